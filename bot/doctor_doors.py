"""Examine what lets other machines and programs in: the API, and the door of remote exec."""

from collections.abc import Iterator

from bot.finding import Finding, Verdict
from bot.remote import acl_path
from bot.settings import Settings
from core.remote.acl import Acl
from core.remote.acl_file import load_acl
from core.remote.contacts import ContactsFile

_API, _REMOTE = "API", "remote exec"


def api(settings: Settings) -> Iterator[Finding]:
    """Tell where the API listens, if it does."""
    section = settings.http
    if not section.enabled:
        yield Finding(Verdict.OK, _API, "is off (http.enabled)")
        return
    scheme = "http" if section.tls is None else "https"
    yield Finding(Verdict.OK, _API, f"is to be at {scheme}://{section.listen}")


def remote_exec(settings: Settings) -> Iterator[Finding]:
    """Tell of the door, the access list and the contacts, which only together let anybody in.

    Raises:
        SaysoError: the access list or the contacts cannot be used.
    """
    acl, doors = load_acl(acl_path(settings)), settings.remote.listen
    if acl is None or not acl.table.enabled:
        if doors:
            why = "remote.listen opens a door, but no access list is enabled: all are refused"
            yield Finding(Verdict.WARN, _REMOTE, why)
        else:
            yield Finding(Verdict.OK, _REMOTE, "is off: no access list is enabled")
        return
    for line in acl.warnings:
        yield Finding(Verdict.WARN, _REMOTE, line)
    if not doors:
        why = "an access list is enabled, but remote.listen is empty: nobody is served"
        yield Finding(Verdict.WARN, _REMOTE, why)
        return
    yield Finding(Verdict.OK, _REMOTE, f"takes requests at {', '.join(doors)}: {acl.summary}")
    yield from _strangers(acl, settings)


def _strangers(acl: Acl, settings: Settings) -> Iterator[Finding]:
    """Find who is listed and yet refused, for nobody here trusts them."""
    contacts = ContactsFile(settings.home).read()
    for entry in acl.entries.values():
        if not contacts.trusts(entry.agent_id, entry.machine_id):
            why = (
                f"agent {entry.agent_id[:8]}… on machine {entry.machine_id[:8]}… is listed, but is "
                "no trusted contact, so it is refused; `sayso exec contacts add … --trust accept`"
            )
            yield Finding(Verdict.WARN, _REMOTE, why)
