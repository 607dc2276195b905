"""Read Gemini CLI's policy TOML, and the shell rules of its settings.json.

Source: google-gemini/gemini-cli docs/reference/policy-engine.md, configuration.md, tools/shell.md.
Of the rules that match, the one with the highest ``priority`` decides, an administrator's before
a user's before a workspace's; ``commandPrefix`` is a prefix of the command in whole words,
``commandRegex`` and ``argsPattern`` are expressions over JSON. In settings.json ``tools.allowed``
and ``tools.exclude`` hold ``run_shell_command(PREFIX)``, of which the second wins; ``tools.core``
limits which tools exist at all.
"""

import re
from collections.abc import Iterator, Mapping

from bot.policy_tools.importing.command_text import leading_words, words_of
from bot.policy_tools.importing.documents import read_json, read_toml
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

_DECISIONS = {"allow": Decision.ALLOW, "ask_user": Decision.ASK, "deny": Decision.DENY}
_TOOL = "run_shell_command"
_SHELL_TOOLS = frozenset((_TOOL, "ShellTool"))
_REGEXES = ("commandRegex", "argsPattern")
_CONDITIONS = ("subagent", "mcpName", "toolAnnotations", "modes", "interactive")
_PASSED_OVER = frozenset(("allowRedirection", "allow_redirection"))
_KNOWN = frozenset(
    ("toolName", "commandPrefix", "decision", "priority", "denyMessage", *_REGEXES, *_CONDITIONS)
)
_HIGHEST = 999
_CALL = re.compile(r"(\w+)\((.*)\)", re.DOTALL)
_LISTS = {
    "tools.allowed": Decision.ALLOW,
    "allowedTools": Decision.ALLOW,
    "tools.exclude": Decision.DENY,
    "excludeTools": Decision.DENY,
}
_CORE = ("tools.core", "coreTools")
_UNREADABLE = "a shell would read it as more than the plain words of one command"
_Table = Mapping[str, object]


def read(text: str, origin: Origin) -> tuple[Statement, ...]:
    """Return what the file states about commands.

    Raises:
        BadRequest: it is neither a policy in TOML nor settings in JSON.
    """
    if origin.name.endswith(".json") or (
        not origin.name.endswith(".toml") and text.lstrip().startswith(("{", "//", "/*"))
    ):
        return tuple(_settings(text, origin))
    return tuple(_policy(text, origin))


def _policy(text: str, origin: Origin) -> Iterator[Statement]:
    found = read_toml(text, origin.name)
    rules = found.get("rule", [])
    if not isinstance(rules, list) or not all(isinstance(one, dict) for one in rules):
        raise BadRequest(f"{origin.name}: rules must be tables [[rule]].")
    for key in found:
        if key != "rule":
            yield UnreadStatement(Place(origin.name, key, key), "it is not a rule about commands")
    for number, rule in enumerate(rules):
        yield from _of_rule(f"rule[{number}]", rule, origin)


def _of_rule(where: str, rule: _Table, origin: Origin) -> Iterator[Statement]:
    written = ", ".join(f"{key} = {value!r}" for key, value in rule.items())
    place = Place(origin.name, where, written[:400])
    decide = _DECISIONS.get(str(rule.get("decision")))
    allows = decide is Decision.ALLOW
    rank = _tier(origin) + _rank(rule.get("priority"), narrows=not allows)
    if not _about_commands(rule):
        yield UnreadStatement(place, "it is not about commands")
        return
    problem = _problem(rule, decide)
    if problem is not None or decide is None:
        yield UnreadStatement(place, problem or "", allows=allows, narrows=not allows, rank=rank)
        return
    prefixes = _texts(rule.get("commandPrefix"))
    if not prefixes:
        yield (
            UnreadStatement(place, "it lets every program run", allows=True)
            if allows
            else Everything(place, decide, rank)
        )
    message = rule.get("denyMessage")
    reason = message if isinstance(message, str) else None
    for prefix in prefixes:
        yield _of_prefix(place, prefix, decide, origin, rank=rank, reason=reason)


def _rank(priority: object, *, narrows: bool) -> float:
    """Return the priority; without one, which Gemini requires, an allow outranks nothing."""
    if isinstance(priority, int) and 0 <= priority <= _HIGHEST:
        return priority
    return _HIGHEST if narrows else 0


def _tier(origin: Origin) -> float:
    """Return the lowest rank of a file's rules."""
    if origin.name.startswith("/etc/"):
        return 3000
    return 2000 if origin.folder is None else 1000


def _about_commands(rule: _Table) -> bool:
    if "commandPrefix" in rule or "commandRegex" in rule:
        return True
    tools = _texts(rule.get("toolName"))
    if any(tool == _TOOL or ("*" in tool and not tool.startswith("mcp_")) for tool in tools):
        return True
    return not tools and "mcpName" not in rule


def _problem(rule: _Table, decide: Decision | None) -> str | None:
    if decide is None:
        return "its decision is none of allow, ask_user, deny"
    unknown = sorted(rule.keys() - _KNOWN - _PASSED_OVER)
    if unknown:
        return f"its key {unknown[0]!r} is unknown and may limit it"
    regex = next((key for key in _REGEXES if key in rule), None)
    if regex is not None:
        return f"{regex} is an expression over JSON text, which no template says"
    condition = next((key for key in _CONDITIONS if rule.get(key)), None)
    if condition is not None and decide is Decision.ALLOW:
        return f"it allows only under the condition {condition}, which Sayso does not know"
    if "commandPrefix" in rule and not _texts(rule["commandPrefix"]):
        return "its commandPrefix is not a string"
    return None


def _texts(found: object) -> tuple[str, ...]:
    if isinstance(found, str):
        return (found,)
    if isinstance(found, list) and all(isinstance(one, str) for one in found):
        return tuple(found)
    return ()


def _of_prefix(
    place: Place,
    prefix: str,
    decide: Decision,
    origin: Origin,
    *,
    rank: float,
    reason: str | None = None,
) -> Statement:
    text = prefix.strip()
    allows = decide is Decision.ALLOW
    if not text:
        why = "it lets every program run"
        return (
            UnreadStatement(place, why, allows=True) if allows else Everything(place, decide, rank)
        )
    words = words_of(text, origin.home, stars=False)
    note = None
    if words is None and not allows:
        words, decide = leading_words(text), Decision.ASK
        note = f"{_UNREADABLE}; every `{' '.join(words)} …` is asked about instead"
    if not words:
        return UnreadStatement(place, _UNREADABLE, allows=allows, narrows=not allows, rank=rank)
    folder = origin.folder if allows else None
    return Rule(
        place, decide, words, prefix=True, reason=reason, rank=rank, folder=folder, note=note
    )


# settings.json


def _settings(text: str, origin: Origin) -> Iterator[Statement]:
    found = read_json(text, origin.name)
    if not isinstance(found, dict):
        raise BadRequest(f"{origin.name} is not a JSON object. Name Gemini's settings.json.")
    tools = found.get("tools", {})
    if not isinstance(tools, dict):
        raise BadRequest(f"{origin.name}: tools must be an object.")
    known = {f"tools.{key}": value for key, value in tools.items()}
    known |= {key: value for key, value in found.items() if key not in {"tools", "$schema"}}
    core = _core(known, origin)
    for key, value in known.items():
        if key in _LISTS:
            yield from _listed(key, value, origin, core)
        elif key in _CORE:
            yield from _core_words(key, core, origin)
        else:
            yield UnreadStatement(Place(origin.name, key, key), "it is not a rule about commands")


def _core(known: _Table, origin: Origin) -> tuple[tuple[str, ...], ...] | None:
    """Return the prefixes of the only commands that exist, ``None`` if any may."""
    for key in _CORE:
        if key in known:
            calls = [_called(one) for one in _names(key, known[key], origin)]
            shells = [inside for tool, inside in calls if tool in _SHELL_TOOLS]
            if None in shells:
                return None
            found = (words_of(one or "", origin.home, stars=False) for one in shells)
            return tuple(words for words in found if words is not None)
    return None


def _names(key: str, value: object, origin: Origin) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise BadRequest(f"{origin.name}: {key} must be a list of names.")
    return tuple(value)


def _called(name: str) -> tuple[str, str | None]:
    parts = _CALL.fullmatch(name.strip())
    return (name.strip(), None) if parts is None else (parts[1], parts[2])


def _core_words(
    key: str, core: tuple[tuple[str, ...], ...] | None, origin: Origin
) -> Iterator[Statement]:
    if core is None:
        yield UnreadStatement(Place(origin.name, key, key), "it limits no command")
        return
    listed = "; ".join(" ".join(words) for words in core) or "no command at all"
    why = (
        "it denies every other command, which Sayso asks about; set tools.exec.ask to off to deny "
        "what is not listed"
    )
    yield UnreadStatement(Place(origin.name, key, listed), why)


def _listed(
    key: str, value: object, origin: Origin, core: tuple[tuple[str, ...], ...] | None
) -> Iterator[Statement]:
    decide = _LISTS[key]
    for number, name in enumerate(_names(key, value, origin)):
        place = Place(origin.name, f"{key}[{number}]", name)
        tool, inside = _called(name)
        if tool not in _SHELL_TOOLS:
            yield UnreadStatement(place, "it is not about commands")
        elif inside is not None:
            rank = _tier(origin) + (0 if decide is Decision.ALLOW else _HIGHEST)
            found = _of_prefix(place, inside, decide, origin, rank=rank)
            yield _within(found, core) if decide is Decision.ALLOW else found
        elif decide is Decision.ALLOW:
            yield UnreadStatement(place, "it lets every program run", allows=True)
        else:
            yield Everything(place, decide, _tier(origin) + _HIGHEST)


def _within(found: Statement, core: tuple[tuple[str, ...], ...] | None) -> Statement:
    """Return an allowing rule, if it is within the commands that exist at all."""
    if core is None or not isinstance(found, Rule):
        return found
    if any(found.words[: len(words)] == words for words in core):
        return found
    return UnreadStatement(found.place, "tools.core holds no such command", allows=True)
