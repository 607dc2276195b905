"""Examine an installation: settings, state, people, hosts, names."""

import asyncio
import importlib.metadata
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from bot.client import Client
from bot.doctor.finding import Finding, Verdict
from bot.doctor.network import api, other_users, remote_exec
from bot.factories.channels import approvers
from bot.factories.policy import idle_of
from bot.factories.rules import provisions_of
from bot.factories.sandbox import prove_sandbox, unprotected
from bot.settings import Settings, load
from core.approvals.file.file import ApprovalsFile
from core.approvals.routing.approvers import Approvers
from core.approvals.routing.tiers import TierTerms, tiers_of
from core.errors import GatewayUnreachable, SaysoError, StoreError
from core.gate.guards.lockdown import NAME, Lockdown
from core.hosts.sandbox.backends.bubblewrap import Bubblewrap
from core.model.decision import Tier
from core.model.identity import PersonId
from core.model.policy import AskFallback, ExecSecurity
from core.policy.rules.lint_rules import lint
from core.policy.rules.self_test import broken_examples
from core.runner.supervisor.pinned_files import open_notifier
from core.settings import ForwardMode
from core.store.engine.read_only import open_and_read
from core.store.people import people
from core.text.render import redact

_OURS = ("bot", "channels", "core")
_IN_PROCESS = "memory"
"""The channel of demos and tests, in which no gateway asks anybody."""
_PERSON = "person:"


def examine(environ: Mapping[str, str]) -> tuple[Finding, ...]:
    """Run every check; a check that cannot run is a finding, not an exception."""
    try:
        settings = load(environ=environ)
    except SaysoError as failure:
        return (Finding(Verdict.FAIL, "settings", str(failure)),)
    found = [Finding(Verdict.OK, "settings", f"read from {settings.home}")]
    checks: tuple[Callable[[Settings], Iterator[Finding]], ...] = (
        _names,
        _policy,
        _sandbox,
        _scripts,
        _people,
        _directory,
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


def _deduplicated(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return each finding once, at its worst.

    A running gateway also reports parts that were proved here.
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
    well = one.verdict is other.verdict is Verdict.OK
    return one.subject == other.subject and (well or one.detail == other.detail)


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
    """Prove the sandbox; where it does not work, that host is denied and nothing else happens."""
    name, why = asyncio.run(prove_sandbox(settings))
    if name:
        what = "which change only " + (settings.sandbox.workspace or "the project they run in")
        yield Finding(Verdict.OK, "sandbox", f"{name} encloses commands, {what}")
        if settings.sandbox.unix_sockets or name != Bubblewrap.name:
            why = (
                "lets commands connect to Unix sockets of this machine in the workspace, and to "
                "those that come into sight later; bubblewrap without sandbox.unixSockets does not"
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
    """Find out whether approved scripts can be handed over (docs/explanation/running.md)."""
    why = open_notifier.fault()
    if not why:
        yield Finding(Verdict.OK, "scripts", "are read as they were approved, whatever is there")
        return
    can = "can be replaced by a rename in the moment in which they are opened"
    yield Finding(Verdict.WARN, "scripts", f"{can}: {why}")


def _people(settings: Settings) -> Iterator[Finding]:
    listed = approvers(settings)
    channels = _answering(settings, listed)
    if not channels and not any(listed.by_agent.values()):
        why = "are missing: no account is listed or linked, so nobody can allow anything"
        yield Finding(Verdict.WARN, "approvers", why)
        return
    where = ", ".join(channels) or "no channel, but for single agents"
    yield Finding(Verdict.OK, "approvers", f"may answer in {where}")
    routing = settings.approvals.exec
    if routing.mode is not ForwardMode.SESSION and not (routing.targets or routing.ask):
        why = f"is {routing.mode} but approvals.exec.targets is empty; prompts go nowhere"
        yield Finding(Verdict.WARN, "approvals.exec.mode", why)
    ladder = (entry for step in routing.ask for entry in step.to)
    for entry in (*routing.targets, *ladder):
        if not listed.anybody(entry.channel):
            why = f"has no approver; add channels.{entry.channel}.approvers"
            yield Finding(Verdict.WARN, f"target {entry.channel}", why)
    yield from _quorum(listed, tiers_of(settings.approvals.exec.tiers))


def _answering(settings: Settings, listed: Approvers) -> list[str]:
    """Return where somebody may answer: a named person does where an account of theirs is."""
    places = listed.by_channel.keys() - {_IN_PROCESS}
    named = {entry for entry in listed.everywhere if entry.startswith(_PERSON)}
    plain = replace(listed, everywhere=listed.everywhere - named)
    try:
        known = open_and_read(settings.store_url, people.listed)
    except StoreError:
        return sorted(name for name in places if listed.anybody(name))
    accounts = (one.accounts for one in known if f"{_PERSON}{one.id}" in named and not one.revoked)
    theirs = {account.channel for some in accounts for account in some if not account.revoked}
    if named and settings.http.enabled:
        theirs.add("the API, with a person's token")
    return sorted({name for name in places if plain.anybody(name)} | theirs)


def _directory(settings: Settings) -> Iterator[Finding]:
    """Find approvers that name nobody of `sayso people`, or somebody who is revoked there."""
    named = _named(approvers(settings))
    if not named:
        return
    try:
        known = {one.id: one for one in open_and_read(settings.store_url, people.listed)}
    except StoreError as failure:
        words = ", ".join(sorted(named))
        yield Finding(
            Verdict.WARN, "approvers", f"name {words}, who cannot be looked up: {failure}"
        )
        return
    for name in sorted(named):
        person = known.get(PersonId(name))
        subject = f"approver {_PERSON}{name}"
        if person is None:
            why = f"is not in `sayso people list`; add with `sayso people add {name}`"
            yield Finding(Verdict.WARN, subject, why)
        elif person.revoked:
            why = f"is revoked, so no answer counts; `sayso people restore {name}` restores it"
            yield Finding(Verdict.WARN, subject, why)


def _named(listed: Approvers) -> set[str]:
    lists = (listed.everywhere, *listed.by_channel.values(), *listed.by_agent.values())
    entries = (entry for one in lists for entry in one)
    return {entry.removeprefix(_PERSON) for entry in entries if entry.startswith(_PERSON)}


def _quorum(listed: Approvers, tiers: Mapping[Tier, TierTerms]) -> Iterator[Finding]:
    """Find a quorum that cannot be met; two accounts of one person count as two here."""
    agents = sorted({*listed.by_agent, *listed.quorum_by_agent})
    places: dict[str, tuple[int | None, int]] = {"": (listed.listing().count(), listed.quorum)}
    for agent in agents:
        places[agent] = (listed.listing(agent).count(), listed.needed(agent))
    for whom, (count, others) in places.items():
        own = f"agents.list[{whom}].quorum" if whom else "approvals.exec.quorum"
        needs = {own: others}
        for tier, terms in tiers.items():
            if terms.quorum is not None:
                whose = f" for {whom}" if whom else ""
                needs[f"approvals.exec.tiers.{tier}.quorum{whose}"] = terms.needed(others)
        for subject, needed in needs.items():
            if count is not None and count < needed:
                why = f"needs {needed} people, but {count} may answer; nothing can be allowed"
                yield Finding(Verdict.WARN, subject, why)


def _approvals(settings: Settings) -> Iterator[Finding]:
    file = ApprovalsFile(settings.home / "exec-approvals.json")
    file.read()
    yield Finding(Verdict.OK, "exec-approvals.json", "is readable")
    for line in (*file.lint(), *idle_of(settings, settings.home).lint(file.read().agents)):
        yield Finding(Verdict.WARN, "exec-approvals.json", line)


def _rules(settings: Settings) -> Iterator[Finding]:
    for line in lint(provisions_of(settings)):
        yield Finding(Verdict.WARN, "rules", line)
    for line in broken_examples():
        yield Finding(Verdict.FAIL, "shipped tables", f"{line}; reinstall Sayso")


def _skills(settings: Settings) -> Iterator[Finding]:
    for line in provisions_of(settings).skills.lint:
        yield Finding(Verdict.WARN, "skills", line)


def _lockdown(settings: Settings) -> Iterator[Finding]:
    """Find a lockdown by its file, where no gateway reports it."""
    locked = Lockdown(settings.home / NAME).state()
    if locked is not None:
        yield Finding(Verdict.FAIL, "lockdown", redact(locked.sentence).text)


def _gateway(settings: Settings) -> Iterator[Finding]:
    path = str(settings.home / "gateway.sock")
    try:
        with Client(path) as client:
            report = client.call("health.get", {})
    except GatewayUnreachable as failure:
        yield Finding(Verdict.WARN, "gateway", str(failure))
        yield from _lockdown(settings)
        return
    for name, part in report["parts"].items():
        verdict = Verdict.OK if part["ok"] else Verdict.FAIL
        yield Finding(verdict, name, str(part["detail"]))
