"""Turn a path pattern of Claude Code into one of absolute paths, never narrower.

Source: code.claude.com/docs/en/permissions "Read and Edit": patterns as in .gitignore; ``//x`` is
absolute, ``~/x`` below the home, ``/x`` below the project, ``x`` and ``./x`` below the folder in
which the tool was started. A name without a slash is one at any depth.
"""

import re

from bot.policy_tools.importing.scope import Origin

_BRACKETS = re.compile(r"\[[^\]/]*\]")


def path_pattern(pattern: str, origin: Origin) -> str | None:
    """Return a pattern of the same paths, including all below; ``None`` if it is a negation."""
    text = pattern.strip()
    if text.startswith("!"):
        return None
    base, rest = _base(text, origin)
    rest = _BRACKETS.sub("?", rest.replace("\\", ""))
    below = rest.endswith("/")
    parts = [part for part in rest.split("/") if part not in {"", "."}]
    if any(part == ".." for part in parts):
        base, parts = "/**", [part for part in parts if part != ".."]
    whole = "/".join([base.rstrip("/"), *(parts or ["**"])])
    return f"{whole}/**" if below and not whole.endswith("/**") else whole


def _base(text: str, origin: Origin) -> tuple[str, str]:
    """Return the folder that a pattern starts at, itself a pattern, and the rest of it."""
    folder = origin.folder or "/**"
    if text.startswith("//"):
        return "", text[2:]
    if text == "~" or text.startswith("~/"):
        return origin.home, text[2:]
    if text.startswith("/"):
        return folder, text[1:]
    text = text.removeprefix("./")
    deep = "/" not in text.rstrip("/") and folder != "/**"
    return (f"{folder}/**" if deep else folder), text
