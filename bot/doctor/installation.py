"""Check an installation: settings, state, people, hosts, names."""

import asyncio
import importlib.metadata
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from bot.client import Client
from bot.counted import counted
from bot.doctor.network import api, other_users, remote_exec
from bot.doctor.people import approvers_and_targets, directory
from bot.doctor.secret_files import secret_files
from bot.factories.policy import idle_of
from bot.factories.rules import provisions_of
from bot.factories.sandbox import prove_sandbox, unprotected
from bot.health.check import Finding, Verdict
from bot.health.gate import lockdown
from bot.settings import Settings, home_folder, read
from bot.settings.home import CONFIG_NAME
from core.approvals.file.file import ApprovalsFile
from core.audit.segments import finished
from core.audit.verify import verify
from core.errors import GatewayUnreachable, SaysoError, StoreError, Unanswered
from core.gate.guards.lockdown import NAME, Lockdown
from core.hosts.sandbox.backends.bubblewrap import Bubblewrap
from core.ipc.socket_file import check_path, is_owned
from core.model.identity import DEFAULT_AGENT
from core.model.policy import AskFallback, ExecSecurity
from core.policy.judge.precedence import overruled, resolve
from core.policy.rules.lint_rules import lint
from core.policy.rules.self_test import broken_examples
from core.runner.supervisor.pinned_files import open_notifier
from core.store.engine.read_only import OlderSchema, open_and_read
from core.store.people import people

_OURS = ("bot", "channels", "core")


def examine(environ: Mapping[str, str]) -> tuple[Finding, ...]:
    """Run every check; a check that cannot run is a finding, not an exception."""
    home = home_folder(None, environ)
    try:
        reading = read(home, environ)
    except SaysoError as failure:
        return (Finding(Verdict.FAIL, "settings", str(failure)),)
    settings = reading.settings
    found = [_settings(home), *secret_files(reading)]
    checks: tuple[Callable[[Settings], Iterator[Finding]], ...] = (
        _home,
        _names,
        _policy,
        _sandbox,
        _scripts,
        approvers_and_targets,
        directory,
        _store,
        _journal,
        _approvals,
        _rules,
        _skills,
        api,
        other_users,
        remote_exec,
        _gateway,
    )
    for check in checks:
        try:
            found.extend(check(settings))
        except SaysoError as failure:
            found.append(
                Finding(Verdict.FAIL, check.__name__.strip("_").replace("_", " "), str(failure))
            )
    return _deduplicated(found)


def _settings(home: Path) -> Finding:
    path = home / CONFIG_NAME
    if path.exists():
        return Finding(Verdict.OK, "settings", f"read from {path}")
    why = f"{path} does not exist, so the defaults are in effect; run `sayso init`"
    return Finding(Verdict.WARN, "settings", why)


def _deduplicated(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return each finding once, with its worst result.

    A running gateway also reports parts that were checked here.
    """
    kept: list[Finding] = []
    for one in found:
        at = next((place for place, other in enumerate(kept) if _alike(one, other)), None)
        if at is None:
            kept.append(one)
        elif one.verdict is Verdict.FAIL:
            kept[at] = one
    return tuple(kept)


def _alike(one: Finding, other: Finding) -> bool:
    return one.subject == other.subject and ((one.ok and other.ok) or one.detail == other.detail)


def _home(settings: Settings) -> Iterator[Finding]:
    """Check what a gateway asks of an existing home before it writes there.

    Raises:
        StateError: none would start with it.
    """
    if settings.home.exists():
        check_path(settings.home / "gateway.sock")
    return iter(())


def _names(_settings: Settings) -> Iterator[Finding]:
    """Find another distribution that owns one of our top-level names (Django Channels does)."""
    owners = importlib.metadata.packages_distributions()
    for name in _OURS:
        others = sorted({owner for owner in owners.get(name, ()) if owner != "sayso"})
        if others:
            why = f"is also installed by {', '.join(others)}; install only sayso in its venv"
            yield Finding(Verdict.FAIL, f"package {name}", why)


def _policy(settings: Settings) -> Iterator[Finding]:
    section = settings.tools.exec
    values = [section, *(entry.tools.exec for entry in settings.agents.entries)]
    if any(value.ask_fallback is AskFallback.FULL for value in values):
        why = "is full: commands run unasked while nobody can be reached"
        yield Finding(Verdict.WARN, "askFallback", why)
    if any(value.security is ExecSecurity.FULL for value in values):
        why = "is full for some agent: everything runs there; allowlist is safer"
        yield Finding(Verdict.WARN, "security", why)


def _sandbox(settings: Settings) -> Iterator[Finding]:
    """Check the sandbox; if it does not work, that host is denied and nothing else changes."""
    name, why = asyncio.run(prove_sandbox(settings))
    if name:
        what = "which change only " + (settings.sandbox.workspace or "the project they run in")
        yield Finding(Verdict.OK, "sandbox", f"{name} encloses commands, {what}")
        if settings.sandbox.unix_sockets or name != Bubblewrap.name:
            why = (
                "lets commands connect to Unix sockets of this machine in the workspace, and to "
                "those that appear later; bubblewrap without sandbox.unixSockets does not"
            )
            yield Finding(Verdict.WARN, "sandbox", why)
        if lacking := unprotected(settings, name):
            yield Finding(Verdict.WARN, "sandbox", lacking)
        if os.geteuid() == 0:
            why = "shows root's private files below /etc and /opt; run the gateway as another user"
            yield Finding(Verdict.WARN, "sandbox", why)
        return
    yield Finding(Verdict.WARN, "sandbox", why)


def _scripts(_settings: Settings) -> Iterator[Finding]:
    """Check whether approved scripts can be handed over (docs/explanation/running.md)."""
    why = open_notifier.fault()
    if not why:
        yield Finding(
            Verdict.OK, "scripts", "run as they were approved, even if their file changes"
        )
        return
    can = "can be replaced by a rename in the moment in which they are opened"
    yield Finding(Verdict.WARN, "scripts", f"{can}: {why}")


def _store(settings: Settings) -> Iterator[Finding]:
    """Check that a database can be read which no gateway has open; a running one reports its own.

    An empty file is as good as none: the next gateway makes the database there.
    """
    file = settings.database
    if is_owned(settings.home / "gateway.sock"):
        return
    if file is not None and not (file.exists() and file.stat().st_size):
        return
    try:
        open_and_read(settings.store_url, people.listed)
    except OlderSchema as failure:
        yield Finding(Verdict.WARN, "store", str(failure))
    except StoreError as failure:
        yield Finding(Verdict.FAIL, "store", str(failure))
    else:
        yield Finding(Verdict.OK, "store", "can be read")


def _journal(settings: Settings) -> Iterator[Finding]:
    """Check the file that the journal is written to; `sayso audit verify` checks ended segments."""
    path = settings.audit_path
    if not path.exists() and not path.with_name(f"{path.name}.head").exists():
        return
    found = verify(path, first=max(finished(path), default=0) + 1)
    if found.ok:
        words = f"is whole: {counted(found.records, 'record')} in {path.name}"
        if found.unchecked:
            yield Finding(Verdict.WARN, "journal", f"{words}; {found.unchecked}")
        else:
            yield Finding(Verdict.OK, "journal", words)
        return
    line = f", line {found.first_bad_line}" if found.first_bad_line else ""
    why = f"{path}{line}: {found.why}; keep it as evidence, see `sayso audit verify`"
    yield Finding(Verdict.FAIL, "journal", why)


def _approvals(settings: Settings) -> Iterator[Finding]:
    file = ApprovalsFile(settings.home / "exec-approvals.json")
    file.read()
    yield Finding(Verdict.OK, "exec-approvals.json", "is readable")
    for line in (*file.lint(), *idle_of(settings, settings.home).lint(file.read().agents)):
        yield Finding(Verdict.WARN, "exec-approvals.json", line)
    for line in dict.fromkeys(_overruled(settings, file)):
        yield Finding(Verdict.WARN, "exec-approvals.json", line)


def _overruled(settings: Settings, file: ApprovalsFile) -> Iterator[str]:
    """Report which limits of the file are wider than the configuration and so have no effect."""
    for agent in (DEFAULT_AGENT, *file.read().agents):
        layer = file.layer(agent)
        place = layer.source.removeprefix("exec-approvals.json ")
        for why in overruled(layer, resolve(settings.exec_layers(agent), layer)):
            yield f"{place}: {why}"


def _rules(settings: Settings) -> Iterator[Finding]:
    for line in lint(provisions_of(settings)):
        yield Finding(Verdict.WARN, "rules", line)
    for line in broken_examples():
        yield Finding(Verdict.FAIL, "shipped tables", f"{line}; reinstall Sayso")


def _skills(settings: Settings) -> Iterator[Finding]:
    for line in provisions_of(settings).skills.lint:
        yield Finding(Verdict.WARN, "skills", line)


def _lockdown(settings: Settings) -> Iterator[Finding]:
    """Report a lockdown by its file, if no gateway reports it."""
    found = lockdown(Lockdown(settings.home / NAME))
    if not found.ok:
        yield found


def _gateway(settings: Settings) -> Iterator[Finding]:
    path = str(settings.home / "gateway.sock")
    try:
        with Client(path) as client:
            report = client.call("health.get", {})
    except (GatewayUnreachable, Unanswered) as failure:
        yield Finding(Verdict.WARN, "gateway", str(failure))
        yield from _lockdown(settings)
        return
    for name, part in report["parts"].items():
        yield Finding.when(part["ok"], name, str(part["detail"]))
