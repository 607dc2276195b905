"""Decide whether an interpreter runs code from its input."""

from core.planning.code.words.inputs import takes_input
from core.planning.code.words.interpreters import interpreter_of
from tests.support.tables import rows


@rows(
    "line, takes",
    [
        ("python3", True),
        ("python3 -", True),
        ("python3 x.py", False),
        ("python3 -c", True),  # it lacks its code, and may be given it by the input
        ("python3 -c 1", False),
        ("python3 -c -x", False),
        ("python3 -m pdb", True),
        ("python3 -m json.tool", False),
        ("node -e", True),
        ("node -e 1", False),
        ("node -p -r", True),  # node has no code that begins with a dash
        ("psql", True),
        ("psql -c 1", False),
    ],
)
def test_code_that_is_not_among_the_words_is_in_the_input(line: str, *, takes: bool) -> None:
    """A script or an option's text is the code; the input is data then."""
    name, *words = line.split()
    reader = interpreter_of(name)
    assert reader is not None
    assert takes_input(reader, words) is takes
