"""Know which of its own words a program that starts others passes on."""

from core.planning.code.texts.wrapping import shelled_words
from tests.support.tables import rows


@rows(
    "line, words",
    [
        ("su ana x.sh a", "x.sh a"),
        ("su ana", None),
        ("su", None),
        ("su - ana x.sh", "x.sh"),
        ("su -s /bin/sh ana x.sh", "x.sh"),
        ("su -l ana -m x.sh", "x.sh"),
        ("su --shell /bin/sh ana x.sh", "x.sh"),
        ("su ana -- -x x.sh", "-x x.sh"),
        ("su -c ls ana x.sh", "x.sh"),
        ("runuser ana x.sh", "x.sh"),
        ("runuser -u ana x.sh", None),
        ("capsh --drop=all -- x.sh", "x.sh"),
        ("capsh --drop=all", None),
        ("cat x.sh", None),
    ],
)
def test_what_a_shell_of_another_user_gets(line: str, words: str | None) -> None:
    """The words behind the user's name that are neither options nor their values."""
    found = shelled_words(tuple(line.split()))

    assert (None if found is None else " ".join(found)) == words
