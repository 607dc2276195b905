"""Change one part of exec-approvals.json as a form says: the defaults, or one agent's part.

A form carries what its reader saw: the settings, and which entries were listed, each by a hash.
So if the file has changed in the meantime, what was seen, what it says now and what is wanted can
be shown side by side; entries are added and removed one by one and never by their place in the
list.
"""

import copy
import hashlib
import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from core.approvals.file.edit import add_entry, begun, known_agent
from core.errors import BadRequest
from core.model.identity import AgentId
from core.model.policy import AskFallback, ExecAsk, ExecSecurity
from core.store.engine.clock import wall_ms
from core.text.render import redact, show_argv

DEFAULTS: Final = ""
"""The scope of the settings that apply to every agent without its own."""
_LAST_USE = ("lastUsedAt", "lastUsedCommand", "lastResolvedPath")
_KEY_DIGITS = 16
SETTINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "security": tuple(one.value for one in ExecSecurity),
    "ask": tuple(one.value for one in ExecAsk),
    "askFallback": tuple(one.value for one in AskFallback),
    "autoAllowSkills": ("true", "false"),
}
"""The values of each setting; an empty one means: use the default."""

BULK: Final[Mapping[str, str]] = {
    "never": "all that were never used",
    "90d": "all that were not used for 90 days",
    "all": "all of them",
}
"""The entries that may be removed all at once, by the label of the choice."""
_IDLE_MS = 90 * 86_400_000
_LIMITED = " -- "
"""Separates a pattern from the arguments that it is limited to."""

Raw = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of an allowlist as people see it; ``key`` identifies it wherever it is."""

    key: str
    id: str
    words: str
    used_ms: int | None
    used_for: str
    resolved: str

    def is_idle(self, since_ms: int) -> bool:
        """Return whether it has not been used since an epoch ms, or never was."""
        return self.used_ms is None or self.used_ms < since_ms


@dataclass(frozen=True, slots=True)
class Part:
    """What the file says for one scope."""

    settings: Mapping[str, str]
    entries: tuple[Entry, ...]

    @property
    def keys(self) -> frozenset[str]:
        """Return the keys of its entries."""
        return frozenset(one.key for one in self.entries)


@dataclass(frozen=True, slots=True)
class Edit:
    """What a form asks for: settings, keys of entries to remove, lines of entries to add.

    ``bulk`` is a member of ``BULK``: it removes all entries of that kind among those in ``shown``,
    the keys that the form's reader saw.
    """

    settings: Mapping[str, str]
    removed: frozenset[str] = frozenset()
    added: tuple[str, ...] = ()
    bulk: str = ""
    shown: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Clash:
    """One setting as the reader saw it, as it is now, and as it is wanted."""

    name: str
    seen: str
    now: str
    wanted: str


def part_of(file: Raw, scope: str) -> Part:
    """Return what a file says for a scope."""
    raw = _raw(file, scope)
    settings = {name: _word(raw.get(name)) for name in SETTINGS}
    listed = raw.get("allowlist", []) if scope else []
    return Part(settings, tuple(_entry(one) for one in listed if isinstance(one, dict)))


def agents_of(file: Raw) -> tuple[str, ...]:
    """Return the agents that have their own part."""
    agents = file.get("agents")
    return tuple(sorted(agents)) if isinstance(agents, dict) else ()


def changed(file: Raw, scope: str, edit: Edit) -> Raw:
    """Return the file with an edit carried out; entries that are already gone are not restored.

    Raises:
        BadRequest: a pattern could never match, or the scope is not an agent.
    """
    made: Raw = begun(copy.deepcopy(file))
    name = known_agent(scope) if scope else None
    part = made.setdefault("defaults", {}) if name is None else _agent_part(made, name)
    for setting, word in edit.settings.items():
        if word:
            part[setting] = word == "true" if setting == "autoAllowSkills" else word
        else:
            part.pop(setting, None)
    if name is None:
        return made
    gone = edit.removed | in_bulk(part_of(made, scope), edit)
    listed = part.get("allowlist", [])
    part["allowlist"] = [one for one in listed if _key(one) not in gone]
    for line in edit.added:
        pattern, argv = entry_of(line)
        add_entry(made, name, pattern, argv)
    return made


def in_bulk(part: Part, edit: Edit) -> frozenset[str]:
    """Return the keys that ``edit.bulk`` removes: never one that its reader did not see."""
    since = {"never": 0, "90d": wall_ms() - _IDLE_MS}.get(edit.bulk)
    kind = [
        one.key
        for one in part.entries
        if edit.bulk == "all" or (since is not None and one.is_idle(since))
    ]
    return frozenset(kind) & edit.shown


def entry_of(line: str) -> tuple[str, tuple[str, ...] | None]:
    """Read a line of the form: a pattern and, after `` -- ``, the arguments it is limited to.

    Raises:
        BadRequest: a quote in the arguments is not closed.
    """
    pattern, limited, words = f"{line} ".partition(_LIMITED)
    if not limited:
        return line.strip(), None
    try:
        return pattern.strip(), tuple(shlex.split(words))
    except ValueError as error:
        raise BadRequest(f"{line!r} was not added: {error}.") from None


def merged(seen: Mapping[str, str], now: Mapping[str, str], wanted: Mapping[str, str]) -> Raw:
    """Return the settings of a three-way merge: what was changed here, else what the file says."""
    return {name: now[name] if wanted[name] == seen[name] else wanted[name] for name in SETTINGS}


def clashes(
    seen: Mapping[str, str], now: Mapping[str, str], wanted: Mapping[str, str]
) -> tuple[Clash, ...]:
    """Return the settings that were changed on either side, with their three values."""
    rows = (Clash(name, seen[name], now[name], wanted[name]) for name in SETTINGS)
    return tuple(one for one in rows if len({one.seen, one.now, one.wanted}) > 1)


def seen_text(part: Part) -> str:
    """Return what a form carries of what its reader saw; no pattern, as it may hold a secret."""
    return json.dumps({"settings": dict(part.settings), "keys": sorted(part.keys)})


def _raw(file: Raw, scope: str) -> Raw:
    found = file.get("agents", {}).get(scope) if scope else file.get("defaults")
    return found if isinstance(found, dict) else {}


def _agent_part(made: Raw, name: AgentId) -> Raw:
    part: Raw = made.setdefault("agents", {}).setdefault(name, {})
    return part


def _entry(raw: Raw) -> Entry:
    used = raw.get("lastUsedAt")
    return Entry(
        key=_key(raw),
        id=_shown(raw.get("id")),
        words=_words(raw),
        used_ms=used if isinstance(used, int) else None,
        used_for=_shown(raw.get("lastUsedCommand")),
        resolved=_shown(raw.get("lastResolvedPath")),
    )


def _words(raw: Raw) -> str:
    pattern, argv = str(raw.get("pattern", "")), raw.get("argv")
    head = redact(pattern, strict=True).text
    if isinstance(argv, list) and argv:
        head += f" {show_argv(tuple(map(str, argv)))}"
    files = raw.get("content")
    return f"{head} (while {len(files)} files stay as they are)" if files else head


def _key(raw: object) -> str:
    """Return a key of an entry that does not change when the entry is used."""
    kept = (
        {name: v for name, v in raw.items() if name not in _LAST_USE}
        if isinstance(raw, dict)
        else raw
    )
    text = json.dumps(kept, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:_KEY_DIGITS]


def _shown(value: object) -> str:
    return "" if value is None else redact(str(value), strict=True).text


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else ""
