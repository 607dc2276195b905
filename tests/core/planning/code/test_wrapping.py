"""Know whether words of the input may become code of the program that xargs starts."""

import pytest

from core.planning.code.wrapping import spreads_code


@pytest.mark.parametrize(
    ("line", "spreads"),
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
        ("cat", False),
    ],
)
def test_what_words_of_the_input_become(line: str, *, spreads: bool) -> None:
    """Code where the program lacks its own or may; else they are data."""
    assert spreads_code(tuple(line.split())) is spreads
