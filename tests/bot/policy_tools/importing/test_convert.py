"""Combine what allows and what narrows it: which counts, and what is said about the others."""

import pytest

from bot.policy_tools.importing.convert import carried
from bot.policy_tools.importing.result import Fate, Outcome
from bot.policy_tools.importing.statements import Place, Rule, Statement
from core.model.command import PinnedFile
from core.model.decision import Decision
from tests.support.plans import pinned


def _find(word: str) -> PinnedFile | None:
    return pinned(word if word.startswith("/") else f"/usr/bin/{word}")


def _rule(decide: Decision, text: str, *, rank: float = 0, note: str | None = None) -> Rule:
    """State that commands which begin with these words are allowed, asked about or denied."""
    place = Place("file", f"{decide.name} {text}", text)
    return Rule(place, decide, tuple(text.split()), prefix=True, rank=rank, note=note)


def _first(*statements: Statement) -> Outcome:
    """Return the result of the first statement next to the others."""
    return carried(statements, ["file"], _find, "/home/alice", trust_source=False).outcomes[0]


ALLOW = _rule(Decision.ALLOW, "npm test")


@pytest.mark.parametrize("decide", [Decision.ASK, Decision.DENY])
def test_where_the_strictest_counts_on_both_sides_an_allow_is_exact(decide: Decision) -> None:
    """A rule of the same rank wins there as it does here: nothing needs to be said."""
    found = _first(ALLOW, _rule(decide, "npm test --watch"))

    assert (found.fate, found.why) == (Fate.EXACT, None)


def test_a_rule_that_is_stricter_here_narrows_the_allow() -> None:
    """It could not be read exactly, so it asks about more than it did there."""
    asks = _rule(Decision.ASK, "npm test", note="it could not be read")
    found = _first(ALLOW, asks)

    assert found.fate is Fate.NARROWER
    assert found.why == "ASK npm test wins here, because the strictest rule counts"


@pytest.mark.parametrize(("rank", "narrower"), [(-1, True), (0, False), (1, False)])
def test_only_a_rule_of_lower_rank_is_said_to_win_here(rank: float, *, narrower: bool) -> None:
    """One of a higher rank wins there, too."""
    found = _first(ALLOW, _rule(Decision.ASK, "npm", rank=rank))

    assert (found.fate is Fate.NARROWER) is narrower
    assert ("wins here" in (found.why or "")) is narrower


def test_a_rule_about_other_commands_narrows_nothing() -> None:
    """Another program, or other arguments of the same one."""
    found = _first(
        ALLOW, _rule(Decision.ASK, "yarn test", rank=-1), _rule(Decision.ASK, "npm run", rank=-1)
    )

    assert (found.fate, found.why) == (Fate.EXACT, None)
