"""Check who can answer: approvers, the places that prompts go to, named people, quorums."""

from collections.abc import Collection, Iterable, Iterator, Mapping

from bot.factories.channels import approvers
from bot.health.check import Finding, Verdict
from bot.settings import Settings
from core.approvals.routing.approvers import Approvers
from core.approvals.routing.tiers import TierTerms, tiers_of
from core.errors import StoreError
from core.model.decision import Tier
from core.model.identity import PersonId
from core.settings.approvals import ForwardMode
from core.store.engine.read_only import open_and_read
from core.store.people import people
from core.store.people.people import Person

NOBODY = "no account is listed or linked, so nobody can allow anything"
_IN_PROCESS = "memory"
"""The channel of demos and tests, on which no gateway asks anybody."""
_PERSON = "person:"
_NAMED = 3


def approvers_and_targets(settings: Settings) -> Iterator[Finding]:
    """Report who can answer, and targets and quorums that nobody can serve."""
    found = who_can_answer(settings, _known(settings))
    if not found:
        yield Finding(Verdict.WARN, "approvers", f"are missing: {NOBODY}")
        return
    yield Finding(Verdict.OK, "approvers", f"can answer: {found}")
    yield from unserved_targets(settings)
    yield from _quorum(approvers(settings), tiers_of(settings.approvals.exec.tiers))


def unserved_targets(settings: Settings) -> Iterator[Finding]:
    """Report places that prompts would go to and where nobody could answer."""
    listed, routing = approvers(settings), settings.approvals.exec
    if routing.mode is not ForwardMode.SESSION and not (routing.targets or routing.ask):
        why = f"is {routing.mode} but approvals.exec.targets is empty; prompts go nowhere"
        yield Finding(Verdict.WARN, "approvals.exec.mode", why)
    ladder = (entry for step in routing.ask for entry in step.to)
    configured = _configured(settings)
    for entry in (*routing.targets, *ladder):
        if entry.channel not in configured:
            why = f"is no configured channel; add channels.{entry.channel}, or remove the target"
            yield Finding(Verdict.FAIL, f"target {entry.channel} {entry.to}", why)
        elif not listed.anybody(entry.channel):
            why = f"has no approver; add channels.{entry.channel}.approvers"
            yield Finding(Verdict.WARN, f"target {entry.channel}", why)


def _configured(settings: Settings) -> frozenset[str]:
    """Return the channels that a gateway of these settings may have."""
    channels = settings.channels
    plugins = (plugin.name for plugin in channels.plugins)
    chats = {
        "telegram": channels.telegram,
        "slack": channels.slack,
        "discord": channels.discord,
        "webhook": channels.webhook,
        "companion": channels.companion,
    }
    there = (name for name, section in chats.items() if section is not None)
    return frozenset({"terminal", _IN_PROCESS, *plugins, *there})


def _known(settings: Settings) -> tuple[Person, ...] | None:
    try:
        return open_and_read(settings.store_url, people.listed)
    except StoreError:
        return None


def who_can_answer(settings: Settings, known: Iterable[Person] | None) -> str:
    """Return as text where people can answer, with their accounts; empty if nobody can.

    A named person can answer where they have an account. ``known`` is the people directory,
    ``None`` if it cannot be read: then named people count everywhere.
    """
    listed = approvers(settings)
    named = {one.removeprefix(_PERSON) for one in listed.everywhere if one.startswith(_PERSON)}
    places = {
        name: {*entries, *_of_channel(name, listed.everywhere)}
        for name, entries in listed.by_channel.items()
        if name != _IN_PROCESS
    }
    if known is None:
        for entries in places.values():
            entries.update(f"{_PERSON}{name}" for name in named)
    for one in known or ():
        for account in one.accounts if one.id in named and not one.revoked else ():
            if not account.revoked:
                places.setdefault(account.channel, set()).add(f"{_PERSON}{one.id}")
    if named and settings.http.enabled:
        places["the API"] = {"with a person's token"}
    agents = {f"for agent {agent} alone": entries for agent, entries in listed.by_agent.items()}
    everywhere = (f"{name} ({_few(who)})" for name, who in sorted(places.items()) if who)
    single = (f"{name}: {_few(who)}" for name, who in sorted(agents.items()) if who)
    return "; ".join((*everywhere, *single))


def _of_channel(channel: str, entries: Iterable[str]) -> Iterator[str]:
    head = f"{channel}:"
    return (entry.removeprefix(head) for entry in entries if entry.startswith(head))


def _few(entries: Collection[str]) -> str:
    more = len(entries) - _NAMED
    return ", ".join(sorted(entries)[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def directory(settings: Settings) -> Iterator[Finding]:
    """Report approvers that name nobody in `sayso people`, or somebody revoked there."""
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
    """Report a quorum that cannot be met; two accounts of one person count as two here."""
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
