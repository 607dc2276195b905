"""Read the reference product's exec-approvals.json, as S1 has it and as it drifted since.

Source: seed S1 "Settings and storage"; research/openclaw.md §1 (an agent ``*``, ``argPattern``,
generated ``=command:`` entries, text entries). Bare names are left, for S1 ignores them and only
later versions gave them a meaning. Knobs are not carried over: an agent that asks about everything,
or runs nothing, gets no entries.
"""

import json
from collections.abc import Iterator, Mapping

from bot.policy_tools.importing.statements import Stated, Statement, Unstated, text_of
from core.errors import BadRequest
from core.model.decision import Decision
from core.model.identity import DEFAULT_AGENT, AgentId

_KNOBS = ("security", "ask", "askFallback", "autoAllowSkills")
_EVERYONE, _LEGACY = "*", "default"
_ABOUT = frozenset(
    ("id", "lastUsedAt", "lastUsedCommand", "lastResolvedPath", "commandText", "note", "comment")
)
_Object = Mapping[str, object]


def read(data: bytes, name: str) -> tuple[Statement, ...]:
    """Return what the file lists for each agent.

    Raises:
        BadRequest: it is no version 1 of the file.
    """
    try:
        found = json.loads(text_of(data, name))
    except ValueError as error:
        raise BadRequest(f"{name} is no JSON: {error}.") from error
    if not isinstance(found, dict) or found.get("version") != 1:
        raise BadRequest(f"{name} has no `version: 1`; is it exec-approvals.json?")
    agents = _object(found.get("agents"))
    shared = {**_object(found.get("defaults")), **_knobs(_object(agents.get(_EVERYONE)))}
    return (*_knob_lines("defaults", shared), *_agents(agents, shared))


def _object(found: object) -> dict[str, object]:
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise BadRequest("A part of the file is no object where one is due.")
    return found


def _knobs(part: _Object) -> dict[str, object]:
    return {knob: part[knob] for knob in _KNOBS if part.get(knob) is not None}


def _knob_lines(place: str, part: _Object) -> Iterator[Unstated]:
    for knob, value in _knobs(part).items():
        why = "knobs are not carried over; tools.exec and this file's own decide"
        yield Unstated(f"{place}.{knob}", json.dumps(value), why)


def _agents(agents: _Object, shared: _Object) -> Iterator[Statement]:
    everyone = _entries(_object(agents.get(_EVERYONE)), f"agents.{_EVERYONE}")
    if everyone:
        text = f"{len(everyone)} entries"
        why = "they hold for every agent; they were carried over for the agents that are named"
        yield Unstated(f"agents.{_EVERYONE}", text, why)
    for name, part in agents.items():
        if name == _EVERYONE:
            continue
        own = _object(part)
        place = f"agents.{name}"
        agent = DEFAULT_AGENT if name == _LEGACY else AgentId(name)
        yield from _knob_lines(place, own)
        closed = _closed({**shared, **_knobs(own)})
        for where, entry in (*_entries(own, place), *everyone):
            yield _statement(where, entry, agent, closed)


def _closed(knobs: _Object) -> str | None:
    """Say why the agent's entries let nothing run unasked, ``None`` if they do."""
    if knobs.get("security") == "deny":
        return "its agent's security is deny"
    return "its agent's ask is always" if knobs.get("ask") == "always" else None


def _entries(part: _Object, place: str) -> list[tuple[str, object]]:
    found = part.get("allowlist") or []
    if not isinstance(found, list):
        raise BadRequest(f"{place}.allowlist must be a list.")
    return [(f"{place}.allowlist[{number}]", entry) for number, entry in enumerate(found)]


def _statement(place: str, entry: object, agent: AgentId, closed: str | None) -> Statement:
    fields = {"pattern": entry} if isinstance(entry, str) else entry
    text = json.dumps(entry)
    if not isinstance(fields, dict) or not isinstance(fields.get("pattern"), str):
        return Unstated(place, text, "it has no pattern")
    pattern: str = fields["pattern"]
    why = closed or _limit(fields) or _refused(pattern)
    if why is not None:
        return Unstated(place, text, why)
    return Stated(place, text, Decision.ALLOW, (pattern,), prefix=True, agent=agent, pattern=True)


def _limit(fields: _Object) -> str | None:
    if fields.get("argPattern"):
        return "its argPattern is an expression over the arguments, which no template says"
    unknown = sorted(fields.keys() - _ABOUT - {"pattern", "argPattern", "source"})
    return f"its key {unknown[0]!r} is unknown and may limit it" if unknown else None


def _refused(pattern: str) -> str | None:
    if pattern.startswith("="):
        return "it is a digest of a command, which cannot be turned back into words"
    if pattern in {"*", "**", "/**"}:
        return "it lets every program run"
    if "/" not in pattern:
        return "a name without a path is ignored in version 1; list the program's whole path"
    return None
