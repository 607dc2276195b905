"""Lose no denial silently that a configuration cannot express."""

import json
from collections.abc import Sequence

from bot.policy_tools.importing.import_files import Source, import_texts
from bot.policy_tools.importing.result import Fate, Imported
from bot.policy_tools.importing.scope import Origin
from tests.support.plans import pinned

HOME = "/home/alice"
EMPTY_WORD = "Bash(cat '')"
"""What no rule says: each of its words has a character."""


def _imported(**lists: Sequence[str]) -> Imported:
    text = json.dumps({"permissions": lists})
    found = [(text, Origin("file", HOME))]
    return import_texts(Source.CLAUDE_CODE, found, lambda word: pinned(f"/usr/bin/{word}"), HOME)


def test_a_denial_that_no_rule_says_is_lost() -> None:
    """It is named first, and nothing is written while anything is lost."""
    found = _imported(deny=[EMPTY_WORD, "Bash(cat key)"])
    assert [one.fate for one in found.outcomes] == [Fate.LOST, Fate.CARRIED]
    (lost,) = found.of(Fate.LOST)
    assert lost.place.text == EMPTY_WORD


def test_an_allow_that_no_rule_says_is_dropped() -> None:
    """The others stay."""
    found = _imported(allow=[EMPTY_WORD, "Bash(cat notes)"])
    assert [one.fate for one in found.outcomes] == [Fate.DROPPED, Fate.EXACT]
    assert len(found.rules) + len(found.entries) == 1
