"""Know what a program that starts others passes on: words of its input, or its own."""

from core.planning.code.texts.wrapping import shelled_words, spreads_code
from tests.support.tables import rows


@rows(
    "line, spreads",
    [
        ("xargs sed", True),
        ("xargs sed -n", True),
        ("xargs sed -n p", True),  # the word may be the option's
        ("xargs sed -n -- p", False),
        ("xargs sed s/a/b/", False),
        ("xargs sed -f", True),
        ("xargs awk", True),
        ("xargs awk 1", False),
        ("xargs -I% awk %", True),
        ("xargs sh", True),
        ("xargs sh -c", True),
        ("xargs sh x.sh", False),
        ("xargs python3", True),
        ("xargs python3 -c", True),
        ("xargs python3 x.py", False),
        ("xargs cat", False),
        ("parallel", True),
        ("parallel sh ::: x.sh", True),
        ("parallel sh x.sh ::: a b", False),
        ("cat", False),
    ],
)
def test_what_words_of_the_input_become(line: str, *, spreads: bool) -> None:
    """Code where the program lacks its own or may; else they are data."""
    assert spreads_code(tuple(line.split())) is spreads


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
