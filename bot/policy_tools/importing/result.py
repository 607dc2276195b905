"""Define the result of an import: for each line of the source its fate, rules and entries."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from bot.policy_tools.importing.statements import Place
from core.model.decision import Decision, Promise
from core.model.identity import AgentId


class Fate(StrEnum):
    """What became of a line of the source."""

    EXACT = "exact"
    """It allows the same commands."""
    NARROWER = "narrower"
    """It allows fewer commands."""
    DROPPED = "dropped"
    """It allowed commands and nothing of it was carried over."""
    CARRIED = "carried"
    """It asks about or denies the same commands, or more."""
    LOST = "lost"
    """It may ask about or deny commands, and nothing of it was carried over."""
    IGNORED = "ignored"
    """It is not a rule about commands."""


ALLOWING = (Fate.EXACT, Fate.NARROWER, Fate.DROPPED)


@dataclass(frozen=True, slots=True)
class ImportedRule:
    """A rule for ``tools.exec.rules``: one kind of match with its value, maybe a folder."""

    decide: Decision
    kind: str
    value: str | tuple[str, ...]
    cwd: str | None = None
    reason: str | None = None

    def json(self) -> dict[str, object]:
        """Return the rule as it is written in the configuration."""
        value = list(self.value) if isinstance(self.value, tuple) else self.value
        match: dict[str, object] = {self.kind: value}
        if self.cwd is not None:
            match["cwd"] = self.cwd
        found: dict[str, object] = {"match": match, "decide": self.decide.word}
        return found if self.reason is None else {**found, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class ImportedEntry:
    """An allowlist entry of one agent."""

    agent: AgentId
    entry: Promise


@dataclass(frozen=True, slots=True)
class Outcome:
    """A line of the source, its fate, and why the result is not the same."""

    place: Place
    fate: Fate
    why: str | None
    rules: tuple[ImportedRule, ...] = ()
    entries: tuple[ImportedEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class Imported:
    """All lines of all files, in order."""

    outcomes: tuple[Outcome, ...]
    files: tuple[str, ...]

    @property
    def rules(self) -> tuple[ImportedRule, ...]:
        """Return each rule once, those that deny first, then those that ask."""
        every = dict.fromkeys(rule for one in self.outcomes for rule in one.rules)
        return tuple(sorted(every, key=lambda rule: -rule.decide))

    @property
    def entries(self) -> tuple[ImportedEntry, ...]:
        """Return each entry once."""
        return tuple(dict.fromkeys(entry for one in self.outcomes for entry in one.entries))

    def of(self, *fates: Fate) -> tuple[Outcome, ...]:
        """Return the lines with certain fates."""
        return tuple(one for one in self.outcomes if one.fate in fates)

    def counts(self) -> Iterator[tuple[Fate, int]]:
        """Yield how many lines have each fate."""
        for fate in Fate:
            yield fate, len(self.of(fate))
