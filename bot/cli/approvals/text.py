"""Format exec-approvals.json for a terminal."""

from collections.abc import Iterator, Mapping
from typing import Any

_SETTINGS = ("security", "ask", "askFallback", "autoAllowSkills")


def worded(name: str, text: dict[str, Any]) -> Iterator[str]:
    """Format the whole file, line by line."""
    if not text:
        yield f"{name} does not exist: only tools.exec of config.json5 applies"
        return
    yield name
    yield f"defaults: {_settings(text.get('defaults', {}))}"
    for agent, part in text.get("agents", {}).items():
        yield f"agent {plain(agent)}: {_settings(part)}"
        yield from (f"  {entry_words(entry)}" for entry in part.get("allowlist", []))


def _settings(part: Mapping[str, object]) -> str:
    given = {name: part[name] for name in _SETTINGS if part.get(name) is not None}
    found = [f"{name} {str(value).lower()}" for name, value in given.items()]
    return ", ".join(found) or "as tools.exec says"


def entry_words(entry: Mapping[str, Any]) -> str:
    """Format an entry with its last use."""
    words, used = plain(pattern_words(entry)), entry.get("lastUsedAt")
    if not used:
        return words
    return f"{words}    last used {_when(used)}: {_stored(entry.get('lastUsedCommand') or '')}"


def pattern_words(entry: Mapping[str, Any]) -> str:
    """Describe what an entry covers, in the words of a promise."""
    from core.model.approval import AllowlistEntry  # noqa: PLC0415

    argv, content = entry.get("argv"), entry.get("content")
    vector = None if argv is None else tuple(argv)
    files = None if content is None else tuple(content.items())
    return AllowlistEntry(entry["pattern"], argv=vector, content=files).words


def _when(epoch_ms: float) -> str:
    from datetime import UTC, datetime  # noqa: PLC0415

    try:
        return datetime.fromtimestamp(epoch_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (OverflowError, ValueError):
        return f"at {epoch_ms} ms"


def _stored(command: str) -> str:
    """Return a command that was escaped when stored; escape what an editor has added since."""
    from core.text.secrets import mask  # noqa: PLC0415

    return "".join(one if one.isprintable() else f"\\u{{{ord(one):04X}}}" for one in mask(command))


def plain(text: str) -> str:
    """Return a text as a terminal may show it: secrets masked, odd characters escaped."""
    from core.text.render import redact  # noqa: PLC0415

    return redact(text).text
