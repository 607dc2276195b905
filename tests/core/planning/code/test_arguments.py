"""Find the words of a wrapper's command that an interpreter reads as code."""

import pytest

from core.planning.code.arguments import code_words
from core.planning.code.words import CodeWord


@pytest.mark.parametrize(
    "between",
    [(), ("-u", "root"), ("-g", "a", "-u", "b", "-h", "c", "-p", "d", "-C", "5", "--")],
    ids=len,
)
def test_the_first_interpreter_behind_a_wrapper_reads_its_script(between: tuple[str, ...]) -> None:
    """However many words the wrapper takes itself; nothing else can have taken the script."""
    found = tuple(code_words(("sudo", *between, "bash", "x.sh"), "/usr/bin/sudo"))
    assert found == (CodeWord("x.sh", sure=True),)


def test_a_later_interpreter_may_be_the_first_ones_word() -> None:
    """What it would read counts, but may be missing: `sh` can be the name of a user here."""
    found = tuple(code_words(("sudo", "-u", "sh", "bash", "x.sh"), "/usr/bin/sudo"))
    assert found == (CodeWord("bash", sure=True), CodeWord("x.sh"))


def test_a_program_that_starts_nothing_has_no_code() -> None:
    """The control: an interpreter is only a word there."""
    assert not tuple(code_words(("ls", "bash", "x.sh"), "/usr/bin/ls"))


@pytest.mark.parametrize(
    ("argv", "files"),
    [
        (("perl", "-Ilib", "-MA::B", "x.pl"), {"A/B.pm", "lib/A/B.pm", "x.pl"}),
        (("ruby", "-Ilib", "-ra/b", "x.rb"), {"a/b.rb", "lib/a/b.rb", "x.rb"}),
        (("python3", "-m", "a.b"), {"a/b.py"}),
        (("node", "-r", "./a.js", "x.js"), {"./a.js", "x.js"}),
    ],
)
def test_the_modules_that_options_load_are_code(argv: tuple[str, ...], files: set[str]) -> None:
    """Wherever the options say that they may be; the script is code all the same."""
    found = {one.path for one in code_words(argv, f"/usr/bin/{argv[0]}")}

    assert files <= found
