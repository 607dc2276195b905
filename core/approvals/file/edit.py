"""Change the plain JSON of exec-approvals.json; what is not touched stays as it was written."""

import copy
import json
import secrets
import uuid

from core.approvals.file.document import ignored_because
from core.approvals.file.errors import LONGEST_PATTERN
from core.approvals.file.schema import (
    EVERY_AGENT,
    LEGACY_AGENT,
    VERSION,
    Raw,
)
from core.errors import BadRequest
from core.model.approval import AllowlistEntry
from core.model.decision import Content
from core.model.identity import DEFAULT_AGENT, NAME_WORDS, AgentId, is_name
from core.policy.rules.lint_entries import never_counts

_TOKEN_BYTES = 24
_SHOWN = 40
"""Characters of a wrong name that a message quotes."""


def fresh(socket_path: str) -> Raw:
    """Return a new file's content: a random token, and no setting that changes a policy (S1)."""
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    return {**begun({}), "socket": {"path": socket_path, "token": token}}


def begun(shown: Raw) -> Raw:
    """Return what a change begins with: what is shown of a file, or of a missing one."""
    return shown or {"version": VERSION, "agents": {}}


def dumped(raw: Raw) -> bytes:
    """Return the text that is written: two-space indent, UTF-8, a line feed at the end."""
    return (json.dumps(raw, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def masked(raw: Raw) -> Raw:
    """Return a copy that may be shown: without the socket's token."""
    shown = copy.deepcopy(raw)
    socket = shown.get("socket")
    if isinstance(socket, dict):
        socket.pop("token", None)
    return shown


def known_agent(agent: str) -> AgentId:
    """Return the name under which an agent's entries are kept.

    Raises:
        BadRequest: the name is empty, means every agent, or is one that no agent can have.
    """
    if agent in {"", EVERY_AGENT}:
        raise BadRequest("Allowlists are kept for each agent. Name one, such as --agent main.")
    if not is_name(agent):
        shown = f"{agent[:_SHOWN]!a}"
        raise BadRequest(
            f"{shown} is not an agent's name: it has {NAME_WORDS}. Nothing was changed."
        )
    return DEFAULT_AGENT if agent == LEGACY_AGENT else AgentId(agent)


def refuse_names(new: Raw, old: Raw | None) -> None:
    """Refuse a text with a part for what cannot be an agent; one that is in ``old`` may stay.

    Raises:
        BadRequest: it has one.
    """
    for agent in _agents(new).keys() - _agents(old or {}).keys():
        known_agent(agent)


def _agents(raw: Raw) -> Raw:
    found = raw.get("agents")
    return found if isinstance(found, dict) else {}


def add_entry(
    raw: Raw,
    agent: str,
    pattern: str,
    argv: tuple[str, ...] | None,
    content: Content | None = None,
) -> tuple[AllowlistEntry, bool]:
    """Return the agent's entry for a pattern, and whether anything had to be written.

    ``argv`` and ``content`` limit it as in ``AllowlistEntry``. What is listed for the same files
    gets their new content.

    Raises:
        BadRequest: the entry could never match.
    """
    _check_entry(pattern, argv, content)
    entries = _allowlist(raw, known_agent(agent))
    bound: Raw = {} if content is None else {"content": dict(content)}
    limits = {**({} if argv is None else {"argv": list(argv)}), **bound}
    for entry in entries:
        # An entry with keys that we do not know is ignored when judging, so it is not a duplicate.
        if _limits(entry) == _limits({"pattern": pattern, **limits}) and set(entry) <= _PLAIN:
            found = AllowlistEntry(pattern, _text(entry.get("id")), argv, content)
            changed = entry.get("content") != bound.get("content")
            entry.update(bound)
            return found, changed
    added = AllowlistEntry(pattern, str(uuid.uuid4()), argv, content)
    entries.append({"id": added.id, "pattern": pattern, **limits})
    return added, True


def _limits(
    entry: Raw,
) -> tuple[object, tuple[object, ...] | None, frozenset[object] | None]:
    argv, content = entry.get("argv"), entry.get("content")
    return (
        entry["pattern"],
        tuple(argv) if isinstance(argv, list) else None,
        frozenset(content) if isinstance(content, dict) else None,
    )


_PLAIN = frozenset(
    (
        "id",
        "pattern",
        "argv",
        "content",
        "lastUsedAt",
        "lastUsedCommand",
        "lastResolvedPath",
        "note",
        "comment",
    )
)


def remove_entry(raw: Raw, agent: str, pattern_or_id: str) -> bool:
    """Remove each of the agent's entries with this pattern or id; return whether there was one."""
    entries = _allowlist(raw, known_agent(agent), make=False)
    sought = pattern_or_id.lower()
    kept = [
        entry
        for entry in entries
        if entry["pattern"] != pattern_or_id and str(entry.get("id") or "").lower() != sought
    ]
    removed = len(kept) != len(entries)
    entries[:] = kept
    return removed


def complete_socket(raw: Raw, socket_path: str) -> bool:
    """Add what the socket lacks, path or token; ``False`` where that changed nothing."""
    present = raw.get("socket")
    before = dict(present) if isinstance(present, dict) else {}
    after = {key: value for key, value in before.items() if value}
    for key, value in (("path", socket_path), ("token", secrets.token_urlsafe(_TOKEN_BYTES))):
        after.setdefault(key, value)
    raw["socket"] = after
    return after != before


def keep_socket(raw: Raw, old: Raw | None, socket_path: str) -> None:
    """Carry address and token of the socket over into a text that leaves them out."""
    present = {} if old is None else old.get("socket")
    parts = (fresh(socket_path)["socket"], present, raw.get("socket"))
    raw["socket"] = {
        key: value for part in parts if isinstance(part, dict) for key, value in part.items()
    }


def _check_entry(pattern: str, argv: tuple[str, ...] | None, content: Content | None) -> None:
    if not 0 < len(pattern) <= LONGEST_PATTERN:
        raise BadRequest(f"A pattern has 1 to {LONGEST_PATTERN} characters; shorten or name it.")
    why = ignored_because(pattern, argv) or never_counts(pattern, argv)
    if why:
        raise BadRequest(f"{pattern!r} was not added: {why}.")
    for word in (pattern, *(argv or ()), *(path for path, _ in content or ())):
        if len(word) > LONGEST_PATTERN:
            raise BadRequest(f"A word of {len(word)} characters is too long to store.")
        try:
            word.encode()
        except UnicodeEncodeError:
            raise BadRequest(f"{word!r} is not valid Unicode and was not added.") from None


def _allowlist(raw: Raw, agent: AgentId, *, make: bool = True) -> list[Raw]:
    """Return the agent's list inside ``raw`` itself, so that changes to it are changes to raw."""
    agents = raw.setdefault("agents", {}) if make else raw.get("agents", {})
    if not isinstance(agents, dict):
        raise TypeError("the text is validated before it is changed")
    part: Raw = agents.setdefault(agent, {}) if make else agents.get(agent, {})
    entries = part.setdefault("allowlist", [])
    if not isinstance(entries, list):
        raise TypeError("the text is validated before it is changed")
    return entries


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
