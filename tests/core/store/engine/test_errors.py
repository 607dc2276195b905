"""What drivers raise, in the words that people read."""

import pytest

from core.errors import StoreAway
from core.store.engine.errors import translated


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (TimeoutError(), "failed: no answer in time. Nothing runs"),
        (TimeoutError("timed out"), "failed: timed out. Nothing runs"),
        (ConnectionResetError(), "failed: ConnectionResetError. Nothing runs"),
    ],
)
def test_an_error_that_says_nothing_is_named(error: Exception, words: str) -> None:
    """A driver that runs out of time raises an error without a word."""
    said = translated(error, "the database x")

    assert isinstance(said, StoreAway)
    assert words in str(said)
