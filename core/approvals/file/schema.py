"""Read the text of exec-approvals.json, version 1 (S1 "Settings and storage").

Strict where a slip could let more run than was meant: an unknown value, a duplicate or misspelt
key, an entry with a condition that we do not know. Other unknown keys are kept and reported.
"""

import json
import math
import os
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Annotated, Literal, TypeGuard

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from core.approvals.file.document import (
    AgentApprovals,
    ApprovalsDocument,
    ExecSettings,
    ignored_because,
)
from core.approvals.file.errors import LONGEST_PATTERN, wrong
from core.errors import ApprovalsFileError
from core.model.approval import AllowlistEntry
from core.model.identity import DEFAULT_AGENT, AgentId, is_name
from core.model.policy import (
    AskFallback,
    ExecAsk,
    ExecSecurity,
    stricter_ask,
    stricter_fallback,
    stricter_security,
)
from core.policy.matching.allowlist import ill_bound

VERSION = 1
NEW_TEXT = "the new text"
"""The name of a text that is to replace the file, for error texts."""
LEGACY_AGENT = "default"
"""The name under which older files keep the entries of the agent ``main`` (S1 "Allowlist")."""
EVERY_AGENT = "*"
_MISSPELT = 0.8
_SETTINGS = ("security", "ask", "askFallback", "autoAllowSkills")

Raw = dict[str, object]
_Written = tuple[AllowlistEntry, str | None]
"""An entry, and the first of its keys that is unknown."""
_USE_KEYS = ("lastUsedCommand", "lastResolvedPath")
_PLAIN_KEYS = frozenset(("pattern", "id", "argv", "content", "lastUsedAt", *_USE_KEYS))
_File = Annotated[str, Field(pattern=r"^/[^\x00]*\z", max_length=LONGEST_PATTERN)]
_Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}\z")]


class _Edge(BaseModel):
    model_config = ConfigDict(
        strict=True, frozen=True, extra="allow", alias_generator=to_camel, hide_input_in_errors=True
    )


class _Entry(_Edge):
    pattern: Annotated[str, Field(min_length=1, max_length=LONGEST_PATTERN)]
    argv: tuple[Annotated[str, Field(max_length=LONGEST_PATTERN)], ...] | None = None
    content: dict[_File, _Sha256] = {}
    id: str | None = None
    last_used_at: int | float | None = None
    last_used_command: str | None = None
    last_resolved_path: str | None = None
    note: str | None = None
    comment: str | None = None


class _ExecSettings(_Edge):
    security: ExecSecurity | None = None
    ask: ExecAsk | None = None
    ask_fallback: AskFallback | None = None
    auto_allow_skills: bool | None = None


class _Agent(_ExecSettings):
    allowlist: list[_Entry] = []


class _Socket(_Edge):
    path: str | None = None
    token: str | None = None
    executes: bool = False


class _Document(_Edge):
    version: Literal[1]
    socket: _Socket = _Socket()
    defaults: _ExecSettings = _ExecSettings()
    agents: dict[str, _Agent] = {}


def parse(data: bytes, name: str) -> tuple[Raw, ApprovalsDocument]:
    """Read the file's bytes into plain JSON, with unknown keys kept, and into its meaning.

    ``name`` is the file's path, for error texts.

    Raises:
        ApprovalsFileError: names the file, the place and what to do; nothing is allowed from it.
    """
    raw = _load(data, name)
    agents = raw.get("agents")
    quick = _quickly(raw)
    if quick is not None:
        return raw, quick
    model = _validated(data, name)
    warnings: list[str] = []
    if isinstance(agents, dict) and LEGACY_AGENT in agents:
        _migrate(agents)
        model = _validated(json.dumps(raw).encode(), name)
        warnings.append(f"agents.{LEGACY_AGENT} counts as agents.{DEFAULT_AGENT}; rename it.")
    if EVERY_AGENT in model.agents:
        raise _unusable(
            name, f"agents.{EVERY_AGENT}", "no entry applies to every agent; use defaults"
        )
    warnings.extend(_strays(model, name))
    return raw, _meaning(model, warnings)


def _quickly(raw: Raw) -> ApprovalsDocument | None:
    """Return what a file means if nearly all its entries are plain; ``None``: read it slowly.

    Building a model for each of very many entries takes five times as long, and holds up every
    other thread meanwhile. A file that is wrong anywhere is read slowly, so that its errors are
    always worded the same.
    """
    agents = raw.get("agents")
    if not isinstance(agents, dict) or {LEGACY_AGENT, EVERY_AGENT} & agents.keys():
        return None
    plain = {agent: [_plain(one) for one in _listed(part)] for agent, part in agents.items()}
    rest = {agent: _without(part, plain[agent]) for agent, part in agents.items()}
    try:
        model = _Document.model_validate_json(json.dumps({**raw, "agents": rest}))
        return _meaning(model, list(_strays(model, "")), plain)
    except (ValidationError, ApprovalsFileError):
        return None


def _listed(part: object) -> list[object]:
    found = part.get("allowlist") if isinstance(part, dict) else None
    return found if isinstance(found, list) else []


def _without(part: object, plain: list[AllowlistEntry | None]) -> object:
    """Return an agent's part with only those entries in its list that are not plain."""
    if not isinstance(part, dict) or not plain:
        return part
    rest = [one for one, known in zip(_listed(part), plain, strict=True) if known is None]
    return {**part, "allowlist": rest}


def _plain(entry: object) -> AllowlistEntry | None:
    """Return an entry whose content, if it has any, is empty; ``None``: its model reads it.

    ASCII only: other text may hold half a character, which the model refuses.
    """
    if not isinstance(entry, dict) or not entry.keys() <= _PLAIN_KEYS:
        return None
    pattern, own, argv = entry.get("pattern"), entry.get("id"), entry.get("argv")
    if not _is_word(pattern) or not pattern or not (own is None or _is_word(own)):
        return None
    if not _plainly_used(entry) or entry.get("content", {}) != {}:
        return None
    content = () if "content" in entry else None
    if argv is None:
        return AllowlistEntry(pattern, own, None, content)
    if not isinstance(argv, list) or not all(map(_is_word, argv)):
        return None
    return AllowlistEntry(pattern, own, tuple(argv), content)


def _plainly_used(entry: Raw) -> bool:
    at = entry.get("lastUsedAt")
    return (at is None or type(at) is int) and all(
        entry.get(name) is None or _is_word(entry[name]) for name in _USE_KEYS
    )


def _is_word(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and value.isascii() and len(value) <= LONGEST_PATTERN


def _unusable(name: str, place: str, what: str) -> ApprovalsFileError:
    said = what if what.endswith("?") else f"{what}."
    if name == NEW_TEXT:
        return ApprovalsFileError(f"{name}, {place}: {said} Nothing was changed; correct it.")
    copy = f"{name}.last-good"
    restore = f", or restore the last good copy: cp -p '{copy}' '{name}'"
    return ApprovalsFileError(
        f"{name}, {place}: {said} Nothing is allowed from this file until it is fixed. "
        f"Edit it{restore if os.path.lexists(copy) else '.'}"
    )


def _load(data: bytes, name: str) -> Raw:
    try:
        value = json.loads(
            data.decode(),
            object_pairs_hook=_unique,
            parse_constant=_no_constant,
            parse_float=_finite,
        )
    except json.JSONDecodeError as error:
        raise _unusable(name, f"line {error.lineno}, column {error.colno}", error.msg) from None
    except UnicodeDecodeError as error:
        raise _unusable(name, f"byte {error.start}", "not UTF-8") from None
    except RecursionError:
        raise _unusable(name, "somewhere", "nested too deeply") from None
    except ValueError as error:
        raise _unusable(name, "somewhere", str(error)) from None
    if not isinstance(value, dict):
        raise _unusable(name, "line 1", "the file must hold one JSON object")
    return value


def _unique(pairs: list[tuple[str, object]]) -> Raw:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [key for key, _ in pairs]
        twice = next(key for key in names if names.count(key) > 1)
        raise ValueError(f"duplicate key {twice!r} in one object")
    return found


def _finite(text: str) -> float:
    """Return a number that can be written back: 1e999 is read as infinity, which JSON lacks."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is too large a number")
    return value


def _no_constant(word: str) -> object:
    raise ValueError(f"{word} is not JSON")


def _validated(data: bytes, name: str) -> _Document:
    try:
        return _Document.model_validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "line 1"
        raise _unusable(name, place, wrong(first)) from None


def _migrate(agents: Raw) -> None:
    """Fold ``agents.default`` into ``agents.main``; where both set one, the stricter stays."""
    old, new = agents.pop(LEGACY_AGENT), agents.setdefault(DEFAULT_AGENT, {})
    if not (isinstance(old, dict) and isinstance(new, dict)):
        raise TypeError("agents are validated before they are migrated")
    for setting in _SETTINGS:
        values = [part[setting] for part in (new, old) if part.get(setting) is not None]
        if values:
            new[setting] = _stricter(setting, values)
    known = [_covered(entry) for entry in new.get("allowlist", [])]
    fresh = [entry for entry in old.get("allowlist", []) if _covered(entry) not in known]
    new["allowlist"] = [*new.get("allowlist", []), *fresh]
    for key, value in old.items():
        new.setdefault(key, value)


def _covered(entry: Raw) -> tuple[object, ...]:
    return entry["pattern"], entry.get("argv"), entry.get("content")


def _stricter(setting: str, values: list[str]) -> object:
    first, last = values[0], values[-1]
    match setting:
        case "security":
            return stricter_security(ExecSecurity(first), ExecSecurity(last)).value
        case "ask":
            return stricter_ask(ExecAsk(first), ExecAsk(last)).value
        case "askFallback":
            return stricter_fallback(AskFallback(first), AskFallback(last)).value
        case _:
            return all(values)


def _strays(model: _Document, name: str) -> Iterator[str]:
    """Report unknown keys; refuse those that look like a known key, as they may be a limit.

    Raises:
        ApprovalsFileError: a key is probably misspelt.
    """
    parts: list[tuple[str, _Edge]] = [
        ("", model),
        ("socket", model.socket),
        ("defaults", model.defaults),
        *((f"agents.{agent}", part) for agent, part in model.agents.items()),
    ]
    for place, part in parts:
        known = [info.alias or key for key, info in type(part).model_fields.items()]
        for key in part.model_extra or ():
            path = f"{place}.{key}" if place else key
            close = get_close_matches(key, known, 1, _MISSPELT)
            if close:
                raise _unusable(name, path, f"unknown key; did you mean {close[0]!r}?")
            yield f"{path}: unknown key, kept and ignored."
    for agent in model.agents:
        if not is_name(agent):
            yield f"agents.{agent!a}: no agent can have this name, so nothing in it counts."


def _meaning(
    model: _Document,
    warnings: list[str],
    plain: Mapping[str, list[AllowlistEntry | None]] = MappingProxyType({}),
) -> ApprovalsDocument:
    """Return what a file says; of ``plain`` lists the model has only what is ``None`` there."""
    agents = {}
    for agent, part in model.agents.items():
        modelled = map(_modelled, part.allowlist)
        entries = _in_order(plain[agent], modelled) if agent in plain else modelled
        agents[AgentId(agent)] = AgentApprovals(
            _settings(part), tuple(_usable(agent, entries, warnings))
        )
    return ApprovalsDocument(
        defaults=_settings(model.defaults),
        agents=agents,
        socket_path=model.socket.path,
        socket_token=model.socket.token,
        socket_executes=model.socket.executes,
        warnings=tuple(warnings) + tuple(_lax(model)),
    )


def _settings(part: _ExecSettings) -> ExecSettings:
    return ExecSettings(part.security, part.ask, part.ask_fallback, part.auto_allow_skills)


def _lax(model: _Document) -> Iterator[str]:
    places: list[tuple[str, _ExecSettings]] = [("defaults", model.defaults)]
    places += [(f"agents.{agent}", part) for agent, part in model.agents.items()]
    for place, part in places:
        if part.ask_fallback is AskFallback.FULL:
            both = "where tools.exec.askFallback is full too"
            what = "commands run unasked while nobody can be reached"
            yield f"{place}.askFallback is full: {both}, {what}."


def _in_order(
    plain: list[AllowlistEntry | None], modelled: Iterator[_Written]
) -> Iterator[_Written]:
    """Yield every entry of a list in its order; those that are not plain were modelled."""
    for one in plain:
        yield next(modelled) if one is None else (one, None)


def _modelled(entry: _Entry) -> _Written:
    bound = "content" in entry.model_fields_set  # an empty one limits: no code at all
    content = tuple(entry.content.items()) if bound else None
    found = AllowlistEntry(entry.pattern, entry.id, entry.argv, content)
    return found, next(iter(entry.model_extra or ()), None)


def _usable(
    agent: str, entries: Iterator[_Written], warnings: list[str]
) -> Iterator[AllowlistEntry]:
    for number, (found, unknown) in enumerate(entries):
        why = ignored_because(found.pattern, found.argv) or ill_bound(found)
        if unknown is not None:
            # An unknown key may narrow the entry (an argument pattern, an expiry): without
            # understanding it, honouring the rest would allow more than its author meant.
            why = f"its key {unknown!r} is unknown and may limit it"
        if why:
            warnings.append(f"agents.{agent}.allowlist.{number} {found.pattern!r}: ignored, {why}.")
        else:
            yield found
