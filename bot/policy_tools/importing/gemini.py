"""Read Gemini CLI's policy TOML.

Source: google-gemini/gemini-cli docs/reference/policy-engine.md. Of the rules that match, the one
with the highest ``priority`` decides; ``commandPrefix`` is a whole-word prefix of the command,
``commandRegex`` and ``argsPattern`` are expressions over JSON.
"""

import tomllib
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

_DECISIONS = {"allow": Decision.ALLOW, "ask_user": Decision.ASK, "deny": Decision.DENY}
_TOOL = "run_shell_command"
_REGEXES = ("commandRegex", "argsPattern")
_CONDITIONS = ("subagent", "mcpName", "toolAnnotations", "modes", "interactive")
_PASSED_OVER = frozenset(("allowRedirection", "allow_redirection"))
_KNOWN = frozenset(
    ("toolName", "commandPrefix", "decision", "priority", "denyMessage", *_REGEXES, *_CONDITIONS)
)
_HIGHEST = 999
_Rule = dict[str, object]


def read(data: bytes, name: str) -> tuple[Statement, ...]:
    """Return what the file states about commands.

    Raises:
        BadRequest: it is no TOML, or its rules are no tables.
    """
    try:
        found = tomllib.loads(text_of(data, name))
    except tomllib.TOMLDecodeError as error:
        raise BadRequest(f"{name} is no TOML: {error}.") from error
    rules = found.get("rule", [])
    if not isinstance(rules, list) or not all(isinstance(one, dict) for one in rules):
        raise BadRequest(f"{name}: [[rule]] must be tables.")
    others = (Unstated(key, key, "it is no rule about commands") for key in found if key != "rule")
    about = (one for number, rule in enumerate(rules) for one in _of(f"rule[{number}]", rule))
    return (*others, *about)


def _of(place: str, rule: _Rule) -> Iterator[Statement]:
    text = ", ".join(f"{key} = {value!r}" for key, value in rule.items())
    decide = _DECISIONS.get(str(rule.get("decision")))
    narrows = decide is not Decision.ALLOW
    priority = rule.get("priority")
    # Without a priority, which Gemini demands, an allow outranks nothing and nothing a denial.
    rank = priority if isinstance(priority, int) else _HIGHEST if narrows else 0
    if not _about_commands(rule):
        yield Unstated(place, text, "it is not about commands")
        return
    problem = _problem(rule, decide)
    if problem is not None or decide is None:
        yield Unstated(place, text, problem or "", narrows, rank=rank)
        return
    told = rule.get("denyMessage")
    for prefix in _texts(rule.get("commandPrefix")):
        words = words_of(prefix)
        if words is None:
            why = f"a shell would read {prefix!r} as more than plain words"
            yield Unstated(place, text, why, narrows, rank=rank)
        else:
            reason = told if isinstance(told, str) else None
            yield Stated(place, text, decide, words, prefix=True, reason=reason, rank=rank)


def _about_commands(rule: _Rule) -> bool:
    if "commandPrefix" in rule or "commandRegex" in rule:
        return True
    tools = _texts(rule.get("toolName"))
    if any(tool == _TOOL or ("*" in tool and not tool.startswith("mcp_")) for tool in tools):
        return True
    return not tools and "mcpName" not in rule


def _problem(rule: _Rule, decide: Decision | None) -> str | None:
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
    if not _texts(rule.get("commandPrefix")):
        return "it is about every command"
    return None


def _texts(found: object) -> tuple[str, ...]:
    if isinstance(found, str):
        return (found,)
    if isinstance(found, list) and all(isinstance(one, str) for one in found):
        return tuple(found)
    return ()
