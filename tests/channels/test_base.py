import pytest

from channels.base import out_of_reach


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("httpx.ConnectError: All attempts failed", "X cannot be reached: All attempts failed."),
        ("no answer in time", "X cannot be reached: no answer in time."),
        ("Timed out.", "X cannot be reached: Timed out."),
        ("a" * 1000, f"X cannot be reached: {'a' * 200}."),
    ],
)
def test_out_of_reach_is_one_sentence(said: str, sentence: str) -> None:
    """What follows begins its own sentence; no class of a library is named."""
    assert str(out_of_reach("X", said)) == sentence


def test_out_of_reach_shows_no_secret() -> None:
    """A URL in an error of a library holds the bot's token."""
    token = f"123456789:{'Ab1_' * 9}"  # what a token looks like
    assert token not in str(out_of_reach("X", f"https://api.example/bot{token}/getMe failed"))
