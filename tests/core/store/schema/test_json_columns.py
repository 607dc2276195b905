"""Return from a column what was put into it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import BadRequest
from core.model.command import ExecPlan
from core.model.decision import Evaluation
from core.model.identity import Target
from core.store.schema.json_columns import dump, load, plain
from tests.support.store_records import evaluation, plan


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_survives_in_a_plan(words: str) -> None:
    """NUL, controls and every script included."""
    made = plan(f"x {words}")
    assert load(ExecPlan, dump(made)) == made


def test_an_evaluation_survives() -> None:
    """Enums are returned as enums."""
    made = evaluation("/usr/bin/git push", "/bin/ls")
    assert load(Evaluation, dump(made)) == made


def test_a_lone_surrogate_is_a_bad_request() -> None:
    """It is not text; no database could keep it."""
    with pytest.raises(BadRequest, match="not valid Unicode"):
        dump(Target("telegram", "\udc80"))


@given(st.text())
def test_plain_words_can_be_stored_and_stay_readable(words: str) -> None:
    """Only NUL and surrogates are replaced."""
    made = plain(words)
    made.encode()
    assert "\0" not in made
    if not any(c == "\0" or "\ud800" <= c <= "\udfff" for c in words):
        assert made == words
