"""Read ``permissions`` of Claude Code's settings.json.

Source: code.claude.com/docs/en/permissions. Rules are ``Tool`` or ``Tool(specifier)``; deny comes
before ask, ask before allow, however specific. In ``Bash(…)`` a ``*`` is any run of characters,
even across several words; `` *`` and ``:*`` at the end mean "with or without more words".
``Read(…)`` and ``Edit(…)`` take patterns as in .gitignore, which also apply to shell commands.
``find`` with ``-exec`` or ``-delete`` always needs an answer, whatever is allowed.
"""

import json
import re
from collections.abc import Iterator, Mapping

from bot.policy_tools.importing.command_text import leading_words, words_of
from bot.policy_tools.importing.documents import read_json
from bot.policy_tools.importing.gitignore import path_pattern
from bot.policy_tools.importing.scope import Origin
from bot.policy_tools.importing.statements import (
    Everything,
    FileRule,
    Place,
    Rule,
    Statement,
    UnreadStatement,
)
from core.errors import BadRequest
from core.model.decision import Decision

_LISTS = {"deny": Decision.DENY, "ask": Decision.ASK, "allow": Decision.ALLOW}
_RULE = re.compile(r"([A-Za-z_*][A-Za-z0-9_*-]*)(?:\((.*)\))?", re.DOTALL)
_READING = frozenset(("Read",))
_EDITING = frozenset(("Edit", "Write", "MultiEdit", "NotebookEdit"))
_KNOWN = frozenset(
    ("hooks", "env", "model", "apiKeyHelper", "statusLine", "enabledPlugins", "sandbox", "theme")
) | {"includeCoAuthoredBy", "cleanupPeriodDays", "outputStyle", "enableAllProjectMcpServers"}
_FIND_ASKS = ("find * -delete *", "find -delete *")
_UNREADABLE = "a shell would read it as more than the plain words of one command"


def read(text: str, origin: Origin) -> tuple[Statement, ...]:
    """Return what the file states.

    Raises:
        BadRequest: it is not a settings file.
    """
    found = read_json(text, origin.name)
    if not isinstance(found, dict):
        raise BadRequest(f"{origin.name} is not a JSON object. Name Claude Code's settings.json.")
    permissions = found.get("permissions")
    if permissions is None and not _KNOWN.isdisjoint(found):
        permissions = {}
    if not isinstance(permissions, dict):
        raise BadRequest(
            f"{origin.name} holds no object `permissions`. Name Claude Code's settings.json."
        )
    return (*_others(found, origin), *_statements(permissions, origin))


def _others(found: Mapping[str, object], origin: Origin) -> Iterator[UnreadStatement]:
    for key in found:
        if key == "hooks":
            why = "hooks are not carried over; where one refuses commands, write a rule that does"
        elif key in {"permissions", "$schema"}:
            continue
        else:
            why = "Sayso has no such setting"
        yield UnreadStatement(Place(origin.name, key, key), why)


def _statements(permissions: Mapping[str, object], origin: Origin) -> Iterator[Statement]:
    for key, value in permissions.items():
        decide = _LISTS.get(key)
        where = f"permissions.{key}"
        if decide is None:
            yield UnreadStatement(Place(origin.name, where, where), _setting(key, value))
        elif not isinstance(value, list):
            raise BadRequest(f"{origin.name}: {where} must be a list of rules, such as [].")
        else:
            for number, rule in enumerate(value):
                written = rule if isinstance(rule, str) else json.dumps(rule)
                place = Place(origin.name, f"{where}[{number}]", written)
                yield from _of_rule(place, rule, decide, origin)


def _setting(key: str, value: object) -> str:
    if key == "defaultMode" and value == "dontAsk":
        return "set tools.exec.ask to off to deny what is not listed; Sayso asks otherwise"
    if key == "defaultMode":
        return "modes are not carried over; tools.exec.security and tools.exec.ask decide"
    if key == "additionalDirectories":
        return "it widens no rule about commands; agents.list[].capabilities limits folders"
    return "Sayso has no such setting"


def _of_rule(place: Place, rule: object, decide: Decision, origin: Origin) -> Iterator[Statement]:
    allows = decide is Decision.ALLOW
    parts = _RULE.fullmatch(rule.strip()) if isinstance(rule, str) else None
    if parts is None:
        yield UnreadStatement(
            place, "it is not a rule `Tool` or `Tool(…)`", allows, narrows=not allows
        )
        return
    tool, inside = parts[1], parts[2]
    if tool == "Bash" or (tool == "*" and inside is None):
        yield _about_commands(place, (inside or "").strip(), decide, origin)
    elif not allows and tool in _READING | _EDITING:
        yield _about_files(place, tool, inside, decide, origin)
    elif not allows and "*" in tool and re.fullmatch(tool.replace("*", ".*"), "Bash"):
        yield Everything(place, decide)
    else:
        yield UnreadStatement(place, "it is not about commands")


def _about_files(
    place: Place, tool: str, inside: str | None, decide: Decision, origin: Origin
) -> Statement:
    pattern = path_pattern(inside or "**", origin)
    if pattern is None:
        return UnreadStatement(place, "it takes back an earlier pattern, which Sayso keeps")
    note = f"it {decide.word}s about" if decide is Decision.ASK else "it denies"
    note += " every command that may name such a file, not only those that read it"
    if tool in _EDITING:
        note = "it asks about every command that may name such a file, not only those that write it"
        decide = Decision.ASK
    return FileRule(place, decide, pattern, note, pattern.startswith("/**"))


def _about_commands(place: Place, inside: str, decide: Decision, origin: Origin) -> Statement:
    if inside in {"", "*", ":*"}:
        if decide is Decision.ALLOW:
            return UnreadStatement(place, "it lets every program run", allows=True)
        return Everything(place, decide)
    head, prefix = inside, False
    for ending in (":*", " *"):
        if inside.endswith(ending):
            head, prefix = inside.removesuffix(ending).rstrip(), True
            break
    if decide is Decision.ALLOW and head.split()[:1] == ["cd"]:
        why = "cd is a step of Sayso's own: it needs no rule before a command that may run"
        return UnreadStatement(place, why, allows=True)
    words = words_of(head, origin.home)
    if words is None:
        return _unreadable(place, head, decide)
    folder = origin.folder if decide is Decision.ALLOW else None
    finds = decide is Decision.ALLOW and words[0].rpartition("/")[2] == "find"
    asks = _FIND_ASKS if finds else ()
    return Rule(place, decide, words, prefix, folder=folder, except_words=asks)


def _unreadable(place: Place, head: str, decide: Decision) -> Statement:
    if decide is Decision.ALLOW:
        return UnreadStatement(place, _UNREADABLE, allows=True)
    words = leading_words(head)
    if not words:
        return UnreadStatement(place, _UNREADABLE, narrows=True)
    note = f"{_UNREADABLE}; every `{' '.join(words)} …` is asked about instead"
    return Rule(place, Decision.ASK, words, prefix=True, note=note)
