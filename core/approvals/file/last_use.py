"""Read and fill in when and for what an entry was last used (S1 "Each allowlist entry tracks")."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from core.approvals.file.schema import Raw
from core.model.approval import AllowlistEntry

_LONGEST_COMMAND = 500
_LATEST_MS = 2**53
_FIELDS = ("lastUsedAt", "lastUsedCommand", "lastResolvedPath")

Key = tuple[str, str]
"""An agent and one of its entries, in its words."""


@dataclass(frozen=True, slots=True)
class LastUse:
    """The last use of one entry: epoch ms, the masked command line, the program's real path."""

    at_ms: int
    command: str
    resolved: str


def uses_of(raw: Raw) -> dict[Key, LastUse]:
    """Return the last uses that the JSON of exec-approvals.json holds."""
    return {
        (agent, _words(entry)): use
        for agent, entry in _entries(raw)
        if (use := _use(entry)) is not None
    }


def fill_in(raw: Raw, uses: Mapping[Key, LastUse]) -> bool:
    """Put newer last uses into the JSON, in place; return whether there were any."""
    changed = False
    for agent, entry in _entries(raw) if uses else ():
        use, known = uses.get((agent, _words(entry))), _use(entry)
        if use is not None and (known is None or known.at_ms < use.at_ms):
            entry["lastUsedAt"] = use.at_ms
            entry["lastUsedCommand"] = use.command[:_LONGEST_COMMAND]
            entry["lastResolvedPath"] = use.resolved
            changed = True
    return changed


def without_uses(raw: Raw) -> Raw:
    """Return the JSON without last uses, which a gateway changes on its own."""
    agents = raw.get("agents")
    if not isinstance(agents, dict):
        return raw
    return {**raw, "agents": {agent: _without(part) for agent, part in agents.items()}}


def _without(part: Raw) -> Raw:
    if not isinstance(part.get("allowlist"), list):
        return part
    entries = [
        {key: value for key, value in entry.items() if key not in _FIELDS}
        for _, entry in _entries({"agents": {"": part}})
    ]
    return {**part, "allowlist": entries}


def _entries(raw: Raw) -> Iterator[tuple[str, Raw]]:
    agents = raw.get("agents")
    for agent, part in agents.items() if isinstance(agents, dict) else ():
        for entry in part.get("allowlist", []):
            yield agent, entry


def _use(entry: Raw) -> LastUse | None:
    at, command, resolved = (entry.get(name) for name in _FIELDS)
    if isinstance(at, bool) or not isinstance(at, int | float) or not 0 < at < _LATEST_MS:
        return None
    return LastUse(int(at), str(command or ""), str(resolved or ""))


def _words(entry: Raw) -> str:
    argv, content = entry.get("argv"), entry.get("content")
    return AllowlistEntry(
        pattern=str(entry["pattern"]),
        argv=tuple(argv) if isinstance(argv, list) else None,
        content=tuple(content.items()) if isinstance(content, dict) else None,
    ).words
