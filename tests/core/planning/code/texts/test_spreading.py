"""Know where words of the input, or what `find` found, become code."""

from core.planning.code.texts.found import Reached
from core.planning.code.texts.spreading import spreads_code, starts_found, without_markers
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
        ("xargs -I % %/x", True),
        ("xargs -I% nice %/x", True),
        ("xargs -I% timeout 5 %/x", True),
        ("xargs -I% cp % x", False),
        ("xargs -I% timeout 5 cp %/x y", False),
    ],
)
def test_what_words_of_the_input_become(line: str, *, spreads: bool) -> None:
    """Code where the program lacks its own or may; else they are data."""
    assert spreads_code(tuple(line.split())) is spreads


@rows(
    "line, left",
    [
        ("xargs -I% sh %/x", "-I x"),
        ("xargs -I % sh d/%", "d/"),
        ("xargs --replace=DIR sh DIR/x", "--replace= x"),
        ("xargs -i sh {}/x", "x"),
        ("parallel sh {1}/{2}", ""),
        ("xargs sh x", ""),
    ],
)
def test_what_is_left_of_words_without_their_markers(line: str, left: str) -> None:
    """A name to be looked for in the folders that the input names."""
    assert " ".join(filter(None, without_markers(line.split()))) == left


def test_any_part_of_a_word_may_be_one_of_many_markers() -> None:
    """So many are not searched for, one by one, in so many words."""
    options = [f"-Im{number}" for number in range(40)]
    words = ["xargs", *options, "sh", "m7/x"]

    assert list(without_markers(words)) == ["x"]
    assert spreads_code(("xargs", *options, "nice", "m7/x"))


@rows(
    "command, path, starts",
    [
        ("{}", "", True),
        ("nice {}", "", True),
        ("sh {}", "{}", True),
        ("sh x", "x", False),
        ("cat {}", "", False),
        ("nice cat {}", "", False),
    ],
)
def test_what_find_may_start(command: str, path: str, *, starts: bool) -> None:
    """What it found is code where an interpreter gets it, or where it is the program."""
    assert starts_found([command.split()], [Reached((path,))]) is starts
