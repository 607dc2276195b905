"""Read OpenClaw's exec-approvals.json and openclaw.json.

In addition to what version 1 of the file defines (S1 "Settings and storage"): an agent ``*``,
``argPattern``, generated ``=command:`` entries, text entries. Bare names are left out: only later
versions gave them a meaning. Settings are not imported: an agent that asks about everything, or
runs nothing, gets no entries.
"""

import json
import re
from collections.abc import Iterator, Mapping

from bot.policy_tools.importing.documents import read_json
from bot.policy_tools.importing.scope import Origin
from bot.policy_tools.importing.statements import (
    Everything,
    Place,
    Rule,
    Statement,
    UnreadStatement,
)
from core.errors import BadRequest
from core.model.decision import Decision
from core.model.identity import DEFAULT_AGENT, AgentId

_POLICY_KEYS = ("security", "ask", "askFallback", "autoAllowSkills")
_EVERYONE, _LEGACY = "*", "default"
_ABOUT = frozenset(
    ("id", "lastUsedAt", "lastUsedCommand", "lastResolvedPath", "commandText", "note", "comment")
)
_AGENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_SHELL_TOOLS = frozenset(("exec", "group:runtime", "*"))
_ANCHORED = re.compile(r"\^((?:[A-Za-z0-9 _=:,@%/-]|\\[.+*?()\[\]{}|^$/-])*)(\( \.\*\)\?)?\$")
_Object = Mapping[str, object]


def read(text: str, origin: Origin) -> tuple[Statement, ...]:
    """Return what the file lists for each agent.

    Raises:
        BadRequest: it is neither version 1 of the approvals nor a configuration.
    """
    found = read_json(text, origin.name)
    if isinstance(found, dict) and "version" not in found and ("tools" in found or "meta" in found):
        return tuple(_configuration(found, origin))
    if not isinstance(found, dict) or found.get("version") != 1:
        raise BadRequest(
            f"{origin.name} has no `version: 1`. Name exec-approvals.json or openclaw.json."
        )
    agents = _object(found.get("agents"), "agents", origin)
    everyone = _object(agents.get(_EVERYONE), f"agents.{_EVERYONE}", origin)
    shared = {**_object(found.get("defaults"), "defaults", origin), **_policy_of(everyone)}
    known = {"version", "agents", "defaults", "socket"}
    others = (
        UnreadStatement(_at(origin, key), "Sayso has no such setting")
        for key in found.keys() - known
    )
    return (
        *sorted(others, key=str),
        *_settings("defaults", shared, origin),
        *_agents(agents, shared, origin),
    )


def _at(origin: Origin, where: str, text: str | None = None) -> Place:
    return Place(origin.name, where, where if text is None else text)


def _object(found: object, where: str, origin: Origin) -> dict[str, object]:
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise BadRequest(f"{origin.name}: {where} must be an object.")
    return found


def _policy_of(part: _Object) -> dict[str, object]:
    return {key: part[key] for key in _POLICY_KEYS if part.get(key) is not None}


def _settings(where: str, part: _Object, origin: Origin) -> Iterator[UnreadStatement]:
    for key, value in part.items():
        if key in _POLICY_KEYS and value is not None:
            why = "settings are not carried over; tools.exec and Sayso's own file decide"
            yield UnreadStatement(_at(origin, f"{where}.{key}", json.dumps(value)[:80]), why)
        elif key not in {*_POLICY_KEYS, "allowlist"}:
            yield UnreadStatement(_at(origin, f"{where}.{key}"), "Sayso has no such setting")


def _agents(agents: _Object, shared: _Object, origin: Origin) -> Iterator[Statement]:
    everyone = _entries(_object(agents.get(_EVERYONE), "agents.*", origin), "agents.*", origin)
    if everyone:
        count = f"{len(everyone)} entries"
        why = "they hold for every agent there; here for those that are named, else for main"
        yield UnreadStatement(_at(origin, f"agents.{_EVERYONE}", count), why)
    named = [name for name in agents if name != _EVERYONE] or ([_LEGACY] if everyone else [])
    for name in named:
        where = f"agents.{name}"
        own = _object(agents.get(name), where, origin)
        yield from _settings(where, own, origin)
        if _AGENT.fullmatch(name) is None:
            yield UnreadStatement(
                _at(origin, where), "Sayso has no agent of such a name", allows=True
            )
            continue
        agent = DEFAULT_AGENT if name == _LEGACY else AgentId(name)
        closed = _closed({**shared, **_policy_of(own)})
        for place, entry in (*_entries(own, where, origin), *everyone):
            yield _statement(place, entry, agent, closed)


def _closed(policy: _Object) -> str | None:
    """Return why the agent's entries let nothing run unasked, ``None`` if they let some."""
    if policy.get("security") == "deny":
        return "its agent's security is deny"
    return "its agent's ask is always" if policy.get("ask") == "always" else None


def _entries(part: _Object, where: str, origin: Origin) -> list[tuple[Place, object]]:
    found = part.get("allowlist") or []
    if not isinstance(found, list):
        raise BadRequest(f"{origin.name}: {where}.allowlist must be a list.")
    return [
        (_at(origin, f"{where}.allowlist[{number}]", _written(entry)), entry)
        for number, entry in enumerate(found)
    ]


def _written(entry: object) -> str:
    """Return an entry as people know it, without its last use."""
    if not isinstance(entry, dict):
        return json.dumps(entry)[:400]
    return json.dumps({key: entry[key] for key in entry if key not in _ABOUT})[:400]


def _statement(place: Place, entry: object, agent: AgentId, closed: str | None) -> Statement:
    fields = {"pattern": entry} if isinstance(entry, str) else entry
    if not isinstance(fields, dict) or not isinstance(fields.get("pattern"), str):
        return UnreadStatement(place, "it has no pattern", allows=True)
    pattern: str = fields["pattern"]
    why = closed or _limit(fields) or _refused(pattern)
    if why is not None:
        return UnreadStatement(place, why, allows=True)
    arguments, prefix = _arguments(fields.get("argPattern"))
    if arguments is None:
        why = "its argPattern is an expression beyond plain words, which no template can express"
        return UnreadStatement(place, why, allows=True)
    words = (pattern, *arguments)
    return Rule(place, Decision.ALLOW, words, prefix, agent=agent, pattern=True)


def _limit(fields: _Object) -> str | None:
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


def _arguments(expression: object) -> tuple[tuple[str, ...] | None, bool]:
    """Return the words that an expression on the arguments requires, and if more may follow.

    No expression means any words; ``^run test( .*)?$`` means these and any after them.
    """
    if expression in (None, ""):
        return (), True
    parts = _ANCHORED.fullmatch(expression) if isinstance(expression, str) else None
    if parts is None:
        return None, False
    text = re.sub(r"\\(.)", r"\1", parts[1])
    words = tuple(text.split(" ")) if text else ()
    return (None, False) if not all(words) else (words, parts[2] is not None)


# openclaw.json


def _configuration(found: _Object, origin: Origin) -> Iterator[Statement]:
    tools = _object(found.get("tools"), "tools", origin)
    for key, value in tools.items():
        if key == "exec":
            yield from _exec(_object(value, "tools.exec", origin), "tools.exec", origin)
        elif (
            key == "deny"
            and isinstance(value, list)
            and not _SHELL_TOOLS.isdisjoint(map(str, value))
        ):
            yield Everything(_at(origin, "tools.deny", json.dumps(value)[:200]), Decision.DENY)
        else:
            yield UnreadStatement(_at(origin, f"tools.{key}"), "it is not a rule about commands")
    for key in found:
        if key not in {"tools", "$schema"}:
            yield UnreadStatement(_at(origin, key), "it is not a rule about commands")


def _exec(part: _Object, where: str, origin: Origin) -> Iterator[Statement]:
    for key, value in part.items():
        place = _at(origin, f"{where}.{key}")
        if key == "security" and value == "deny":
            yield Everything(place, Decision.DENY)
        elif key == "ask" and value == "always":
            yield Everything(place, Decision.ASK)
        elif key == "mode" and value == "deny":
            yield Everything(place, Decision.DENY)
        else:
            yield UnreadStatement(place, "settings are not carried over; tools.exec decides here")
