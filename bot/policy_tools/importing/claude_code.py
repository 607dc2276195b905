"""Read ``permissions`` of Claude Code's settings.json.

Source: code.claude.com/docs/en/permissions. Rules are ``Tool`` or ``Tool(specifier)``; deny comes
before ask, ask before allow, however specific. ``Bash(words)`` is that very command,
``Bash(words:*)`` and ``Bash(words *)`` that command with or without more words.
"""

import json
import re
from collections.abc import Iterator

from bot.policy_tools.importing.statements import (
    Stated,
    Statement,
    Unstated,
    text_of,
    words_of,
)
from core.errors import BadRequest
from core.model.decision import Decision

_LISTS = {"deny": Decision.DENY, "ask": Decision.ASK, "allow": Decision.ALLOW}
_RULE = re.compile(r"([A-Za-z_*][A-Za-z0-9_*-]*)(?:\((.*)\))?", re.DOTALL)
_SHELL_TOOLS = frozenset(("Bash", "*"))


def read(data: bytes, name: str) -> tuple[Statement, ...]:
    """Return what the file states about commands.

    Raises:
        BadRequest: it is no settings file.
    """
    try:
        found = json.loads(text_of(data, name))
    except ValueError as error:
        raise BadRequest(f"{name} is no JSON: {error}.") from error
    permissions = found.get("permissions") if isinstance(found, dict) else None
    if not isinstance(permissions, dict):
        raise BadRequest(f"{name} holds no object `permissions`; is it Claude Code's settings?")
    return tuple(_statements(permissions))


def _statements(permissions: dict[str, object]) -> Iterator[Statement]:
    for key, value in permissions.items():
        decide = _LISTS.get(key)
        if decide is None:
            text = json.dumps(value)
            yield Unstated(f"permissions.{key}", text, "Sayso has no such setting; see docs")
        elif not isinstance(value, list):
            raise BadRequest(f"permissions.{key} must be a list of rules.")
        else:
            for number, rule in enumerate(value):
                yield _statement(f"permissions.{key}[{number}]", rule, decide)


def _statement(place: str, rule: object, decide: Decision) -> Statement:
    narrows = decide is not Decision.ALLOW
    parts = _RULE.fullmatch(rule) if isinstance(rule, str) else None
    if parts is None:
        return Unstated(place, json.dumps(rule), "it is no rule `Tool` or `Tool(…)`", narrows)
    tool, inside = parts[1], parts[2]
    if tool not in _SHELL_TOOLS:
        # A pattern of tools may cover Bash.
        return Unstated(place, parts[0], "it is not about commands", narrows and "*" in tool)
    if inside is None or inside.strip() in {"", "*", ":*"}:
        return Unstated(place, parts[0], "it is about every command", narrows)
    return _about(place, parts[0], inside.strip(), decide)


def _about(place: str, text: str, inside: str, decide: Decision) -> Statement:
    head, prefix = inside, False
    for ending in (":*", " *"):
        if inside.endswith(ending):
            head, prefix = inside.removesuffix(ending), True
            break
    narrows = decide is not Decision.ALLOW
    words = words_of(head)
    if "*" in head:
        why = "a * that is not at the end matches any number of words, which no template says"
        return Unstated(place, text, why, narrows, _program(inside))
    if words is None:
        return Unstated(place, text, "a shell would read it as more than plain words", narrows)
    return Stated(place, text, decide, words, prefix)


def _program(inside: str) -> str | None:
    """Return the first word where it is plain: all that the rule can be about."""
    word = inside.partition(" ")[0]
    return word if re.fullmatch(r"[A-Za-z0-9_.+-]+", word) else None
