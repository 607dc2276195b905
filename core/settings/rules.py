"""Define rules, capabilities and skills: what an owner says about single commands and agents."""

import re
from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, field_validator, model_validator

from core.model.decision import Tier
from core.settings.base import Section, Word, Words, section

_ROOT_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ROOT_PATH = re.compile(r"~|~?(?:/(?!\.{1,2}(?:/|\Z))[^/]+)+|/")


def _named(name: str) -> str:
    if _ROOT_NAME.fullmatch(name) is None:
        raise ValueError("must be 1 to 64 letters, digits, dashes or underscores")
    return name


def _rooted(path: str) -> str:
    if _ROOT_PATH.fullmatch(path) is None:
        raise ValueError("must be an absolute folder or begin with ~/, without .., // or a last /")
    return path


Vectors = Annotated[tuple[Words, ...], Field(strict=False)]
"""A list of argument vectors."""
TierWord = Annotated[Tier, Field(strict=False)]
"""A ``Tier``, written as its word."""
RootPath = Annotated[Word, AfterValidator(_rooted)]
"""A folder, absolute or below the gateway user's home."""


class RootEntry(Section):
    """``tools.exec.roots[]``: a folder that rules name as ``<PATH:name>``."""

    name: Annotated[Word, AfterValidator(_named)] = Field(description="the name, as in <PATH:name>")
    path: RootPath = Field(description="the folder, absolute or beginning with ~/")


class OptionSetSection(Section):
    """``tools.exec.optionSets.NAME``: options that rules name as ``<OPTS:NAME>``."""

    flags: Words = Field(default=(), description="options that take no value")
    values: Mapping[Word, Word | Words] = Field(
        default_factory=dict,
        description="options that take one, with the element that it must fit, or several",
    )
    clusters: bool = Field(
        default=False, description="whether -ab is -a -b, and a value may be glued to its letter"
    )


OptionSets = Annotated[
    Mapping[Annotated[Word, AfterValidator(_named)], OptionSetSection], Field(strict=False)
]
"""Sets of options by their names."""


class MatchSection(Section):
    """``tools.exec.rules[].match``: which commands a rule is about; one of its keys besides cwd."""

    argv: Words | None = Field(
        default=None,
        description="the program and its arguments, each a literal or a template such as <INT>, "
        "<NAME>, <PATH:root>, <PATH:root>…, <GLOB:pattern>, <OPTS:name> or <REST>",
    )
    glob: Word | None = Field(default=None, description="a pattern of the program's whole path")
    effect: Literal["writes", "network", "runs"] | None = Field(
        default=None, description="what the command can do, as far as the shipped tables know"
    )
    reads: Word | None = Field(
        default=None,
        description="a file, or a pattern of files with *, ? and **, that the command may read; "
        "with ask or deny only",
    )
    words: Word | None = Field(
        default=None,
        description="a pattern of the words joined by blanks, * being any run of characters; with "
        "ask or deny only",
    )
    cwd: RootPath | None = Field(
        default=None,
        description="the folder in or below which the rule applies; null: everywhere",
    )

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        given = (self.argv, self.glob, self.effect, self.reads, self.words)
        if sum(one is not None for one in given) != 1:
            raise ValueError("needs exactly one of argv, glob, effect, reads and words")
        if self.argv == ():
            raise ValueError("has an argv that is empty; name the program at least")
        return self


class ExamplesSection(Section):
    """``tools.exec.rules[].examples``: vectors that a rule is checked with when it is read."""

    match: Vectors = Field(default=(), description="vectors that the rule matches")
    miss: Vectors = Field(default=(), description="vectors that it does not match")

    @field_validator("match", "miss")
    @classmethod
    def _not_empty(cls, vectors: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
        if not all(vectors):
            raise ValueError("must not hold an empty vector")
        return vectors


class RuleSection(Section):
    """``tools.exec.rules[]``: what is decided about some commands."""

    match: MatchSection = Field(description="which commands the rule is about")
    decide: Literal["allow", "ask", "deny"] = Field(
        description="allow, ask or deny; of all matching rules, the strictest applies"
    )
    reason: Word | None = Field(
        default=None, description="the reason, shown to people and the agent; null: none"
    )
    tier: TierWord = Field(
        default=Tier.ROUTINE,
        description="the risk tier: routine, elevated or critical",
    )
    examples: ExamplesSection = section(ExamplesSection, "vectors that must match, and must not")


Rules = Annotated[tuple[RuleSection, ...], Field(strict=False)]
"""A list of rules, in the order in which they are shown."""


class FileGrantsSection(Section):
    """``agents.list[].capabilities.files``: the folders that an agent's commands may name."""

    read: Annotated[tuple[RootPath, ...], Field(strict=False)] = Field(
        default=(), description="folders whose files may be named and whose programs may run"
    )
    write: Annotated[tuple[RootPath, ...], Field(strict=False)] = Field(
        default=(), description="folders that commands which may write can name; read as well"
    )


class CapabilitiesSection(Section):
    """``agents.list[].capabilities``: the only tools and files of an agent (S3)."""

    tools: Words = Field(
        default=(), description="the tools that are granted; without Exec no command runs"
    )
    files: FileGrantsSection = section(FileGrantsSection, "the folders that commands may name")


class SkillsSection(Section):
    """``skills``: the programs of the skills that agents know (S1 "Auto-allow skill CLIs")."""

    bins: Words = Field(
        default=(),
        description="programs that count as listed for agents with autoAllowSkills in "
        "exec-approvals.json",
    )
