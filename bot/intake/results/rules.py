"""Define the answers of the methods about the policy: file, grants, verdicts, tools, skills."""

from collections.abc import Mapping
from shlex import quote
from typing import Literal

from pydantic import RootModel

from bot.intake.results.answer import Answer, ChangeAnswer, Milliseconds, safe, safe_or_none
from core.gate.grant_preview import words_of
from core.gate.tools.protocol import ToolError
from core.model.decision import Decision, DenialReason
from core.policy.judge.preview import Preview
from core.policy.matching.matchers import EffectMatch, GlobMatch, VectorMatch
from core.policy.matching.word_pattern import WordsMatch
from core.policy.rules.file_denials import ReadsMatch
from core.policy.rules.rules import Match, Rule
from core.policy.rules.skills import Skills
from core.store.approvals.grants import Grant


class FileAnswer(Answer):
    """exec-approvals.json without its token; ``hash`` is for ``exec.approvals.set``."""

    file: dict[str, object]
    hash: str
    warnings: list[str]


class FileChangeAnswer(ChangeAnswer):
    """Whether exec-approvals.json was replaced, and warnings about its new content."""

    warnings: list[str] | None = None


class PreviewAnswer(Answer):
    """What would have matched among an agent's last 500 commands."""

    looked: int
    matched: int
    denied: list[str]
    sentence: str

    @classmethod
    def of(cls, one: Preview) -> "PreviewAnswer":
        """Return the numbers, the denied texts, and a summary in words."""
        return cls(
            looked=one.looked,
            matched=one.matched,
            denied=[safe(text) for text in one.denied],
            sentence=words_of(one).text,
        )


class GrantAnswer(Answer):
    """What people allowed for a while: what it allows, for whom, and its limits."""

    id: str
    code: str
    agent: str
    session: str | None
    task: str | None
    promise: list[str]
    by: str
    name: str
    created_ms: Milliseconds
    expires_ms: Milliseconds | None
    uses_left: int | None
    used_ms: Milliseconds | None
    preview: PreviewAnswer | None

    @classmethod
    def of(cls, one: Grant, preview: Preview | None) -> "GrantAnswer":
        """Return a grant."""
        return cls(
            id=one.id,
            code=one.code,
            agent=safe(one.agent),
            session=safe_or_none(one.session),
            task=safe_or_none(one.task),
            promise=[safe(promise.words) for promise in one.promise],
            by=safe(one.by.ref),
            name=safe(one.by.name),
            created_ms=one.created_ms,
            expires_ms=one.expires_ms,
            uses_left=one.uses_left,
            used_ms=one.used_ms,
            preview=None if preview is None else PreviewAnswer.of(preview),
        )


class GrantsAnswer(Answer):
    """The grants in effect."""

    grants: list[GrantAnswer]


class ExplainAnswer(Answer):
    """The verdict on a command, as `sayso policy explain --json` prints it.

    Which grant counts, and who gave it, is only shown to the scope `read`. For a node, `node` and
    `gateway` are both verdicts, the stricter of which holds, and `plan` is the plan's digest.
    """

    decision: Literal["allow", "ask", "deny"]
    reason: str
    why: str
    segments: list[dict[str, object]]
    promise: list[str] | None = None
    tier: str | None = None
    agent: str
    policy: dict[str, object]
    rules: list[dict[str, object]]
    idle: list[str]
    asks: dict[str, object] | None
    unread: str | None = None
    node: dict[str, object] | None = None
    gateway: dict[str, object] | None = None
    plan: str | None = None


_WORDS: Mapping[Decision, Literal["allow", "ask", "deny"]] = {
    Decision.ALLOW: "allow",
    Decision.ASK: "ask",
    Decision.DENY: "deny",
}


class RuleAnswer(Answer):
    """A rule of the configuration; `agent` is null if it applies to every agent.

    `by` is the key under `match`, `pattern` its value; `within` is the folder of `cwd`.
    """

    place: str
    agent: str | None
    decide: Literal["allow", "ask", "deny"]
    by: Literal["argv", "glob", "effect", "reads", "words"]
    pattern: str
    within: str | None
    tier: str
    reason: str | None

    @classmethod
    def of(cls, rule: Rule, agent: str | None) -> "RuleAnswer":
        """Return a rule as it is in the configuration."""
        by, pattern = _matched(rule.match)
        return cls(
            place=safe(rule.place),
            agent=safe_or_none(agent),
            decide=_WORDS[rule.decide],
            by=by,
            pattern=safe(pattern),
            within=None if rule.within is None else safe(rule.within.path),
            tier=rule.tier.value,
            reason=safe_or_none(rule.reason),
        )


def _matched(match: Match) -> tuple[Literal["argv", "glob", "effect", "reads", "words"], str]:
    match match:
        case VectorMatch():
            return "argv", " ".join(map(_quoted, match.template.elements))
        case GlobMatch():
            return "glob", match.pattern
        case EffectMatch():
            return "effect", match.effect.value
        case ReadsMatch():
            return "reads", match.patterns[0]
        case WordsMatch():
            return "words", match.pattern


def _quoted(element: str) -> str:
    """Return one element, quoted if needed; a template such as ``<NAME>`` needs no quotes."""
    return element if element.startswith("<") and " " not in element else quote(element)


class RulesAnswer(Answer):
    """The rules in effect, those of single agents first."""

    rules: list[RuleAnswer]


class SkillAnswer(Answer):
    """A program of a skill: the name that was listed and its real path."""

    name: str
    path: str


class SkillsAnswer(Answer):
    """The programs that count as listed, and why other names do not."""

    bins: list[SkillAnswer]
    ignored: list[str]

    @classmethod
    def of(cls, skills: Skills) -> "SkillsAnswer":
        """Return the programs of skills."""
        bins = [
            SkillAnswer(name=safe(name), path=safe(path)) for path, (name, _) in skills.pins.items()
        ]
        return cls(bins=bins, ignored=[safe(one) for one in skills.lint])


class ToolResult(Answer):
    """The tool did its work."""

    ok: Literal[True]
    status: Literal["finished"]
    result: dict[str, object]
    id: str | None


class ToolQuestion(Answer):
    """People are being asked; the session's events say how it ends."""

    ok: Literal[True]
    status: Literal["pending"]
    result: None
    id: str
    code: str
    deadline_ms: Milliseconds


class ToolRefusal(Answer):
    """The tool refused; a refusal is an answer, not an error."""

    ok: Literal[False]
    error: ToolError
    message: str
    reason: DenialReason | None
    id: str | None


AnyToolAnswer = ToolResult | ToolQuestion | ToolRefusal


class ToolAnswer(RootModel[AnyToolAnswer]):
    """The answer of a tool."""
