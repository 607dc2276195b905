"""Check what lets others in: the API, other users of this machine, and remote exec."""

import os
from collections.abc import Iterator
from pathlib import Path

from bot.client import Client
from bot.counted import counted
from bot.factories.api_port import check_free
from bot.factories.remote_exec import acl_path
from bot.health.check import Finding, Verdict
from bot.intake.socket import admitted
from bot.settings import Settings
from core.errors import SaysoError
from core.ipc.socket_file import check_shared_folder, is_owned
from core.ipc.users import user_name
from core.remote.acl.acl import Acl
from core.remote.acl.load import load_acl
from core.remote.trust.contacts import ContactsFile

_PATIENCE_S = 5.0
_API, _INTAKE, _REMOTE = "API", "intake.unix", "remote exec"


def api(settings: Settings) -> Iterator[Finding]:
    """Yield where the API listens, if it does, or that somebody else has its port."""
    section = settings.http
    if not section.enabled:
        yield Finding(Verdict.OK, _API, "is off (http.enabled)")
        return
    scheme = "http" if section.tls is None else "https"
    try:
        if not is_owned(settings.home / "gateway.sock"):
            check_free(section)
    except SaysoError as failure:
        yield Finding(Verdict.FAIL, _API, str(failure))
        return
    yield Finding(Verdict.OK, _API, f"will listen at {scheme}://{section.listen}")


def other_users(settings: Settings) -> Iterator[Finding]:
    """Report which other users of this machine may send requests, and where.

    Raises:
        ConfigError: a listed user does not exist.
        StateError: the socket's folder cannot be used.
    """
    section = settings.intake
    users = admitted(section.unix)
    if not users:
        return
    check_shared_folder(Path(section.socket).parent)
    for uid, one in users.items():
        who = (
            f"{user_name(uid) or 'no name'} (uid {uid}) may ask as {', '.join(sorted(one.agents))}"
        )
        yield Finding(Verdict.OK, _INTAKE, f"{who} on {section.socket}")
        if uid == os.getuid():
            why = "is the gateway's own user, who can also use the owner's socket"
            yield Finding(Verdict.WARN, _INTAKE, f"uid {uid} {why}")


def remote_exec(settings: Settings) -> Iterator[Finding]:
    """Report on the listener, the access list and the contacts, which let in callers only together.

    Raises:
        SaysoError: the access list or the contacts cannot be used.
    """
    acl, listeners = load_acl(acl_path(settings)), settings.remote.listen
    if acl is None or not acl.table.enabled:
        running = _running(settings)
        if running is not None:
            yield Finding(Verdict.OK, _REMOTE, running)
        elif listeners:
            why = "remote.listen is set, but no access list is enabled: all requests are refused"
            yield Finding(Verdict.WARN, _REMOTE, why)
        else:
            yield Finding(Verdict.OK, _REMOTE, "is off: no access list is enabled")
        return
    for line in acl.warnings:
        yield Finding(Verdict.WARN, _REMOTE, line)
    if not listeners:
        why = "an access list is enabled, but remote.listen is empty: no requests are accepted"
        yield Finding(Verdict.WARN, _REMOTE, why)
        return
    yield Finding(Verdict.OK, _REMOTE, f"listens at {', '.join(listeners)}: {acl.summary}")
    yield from _strangers(acl, settings)


def _running(settings: Settings) -> str | None:
    """Return what a gateway started with --exec-acl serves; ``None`` if none does."""
    try:
        with Client(str(settings.home / "gateway.sock")) as client:
            found = client.call("exec.remote.diagnostics", {}, _PATIENCE_S)
    except SaysoError:
        return None
    if not found["enabled"]:
        return None
    where, acl = ", ".join(found["listening"]), found["acl"]
    return (
        f"the running gateway listens at {where} with an access list from --exec-acl: "
        f"{counted(acl['pairs'], 'pair')}, {counted(acl['commands'], 'command')}; check the "
        "file itself with `sayso doctor --exec-acl F`"
    )


def _strangers(acl: Acl, settings: Settings) -> Iterator[Finding]:
    """Report agents that are listed but refused, because they are not trusted here."""
    contacts = ContactsFile(settings.home).read()
    for entry in acl.entries.values():
        if not contacts.trusts(entry.agent_id, entry.machine_id):
            why = (
                f"agent {entry.agent_id[:8]}… on machine {entry.machine_id[:8]}… is listed, but is "
                "not a trusted contact, so it is refused; `sayso exec contacts add … --trust "
                "accept`"
            )
            yield Finding(Verdict.WARN, _REMOTE, why)
