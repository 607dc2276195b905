"""Find file names in words whose text starts an interpreter."""

from core.planning.code.words.spoken import with_interpreter
from tests.support.tables import rows


@rows(
    "word, names",
    [
        ("exec=sh notes", True),
        ("pager=python3 notes", True),
        ("x; . notes", True),
        ("-Ish notes", True),
        ("exec=cat notes", False),
        ("a notes", False),
    ],
)
def test_a_word_that_names_an_interpreter_may_name_its_file(word: str, *, names: bool) -> None:
    """Any other text names data, whatever file of that name there is."""
    assert list(with_interpreter(word))[-1:] == (["notes"] if names else [])
