"""Put every command and option on the man page, in valid roff."""

import subprocess
import sys

from bot.cli import build_parser
from bot.cli.help.man import page
from bot.cli.parser import members
from tests.project.tracked import ROOT


def test_the_page_is_read_without_a_warning() -> None:
    """By groff with every warning on; the output names each command and topic."""
    done = subprocess.run(
        ["man", "-l", "--warnings=w", "-"],
        input=page("1.2.0"),
        env={
            "PATH": "/usr/bin:/bin",
            "MANWIDTH": "100",
            "LC_ALL": "C.UTF-8",
            "MAN_KEEP_FORMATTING": "",
        },
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stderr == ""
    assert all(f"sayso {name}" in done.stdout for name in members(build_parser()))
    for words in ("SAYSO_HOME", "EXIT STATUS", "audit.jsonl", "--exec-acl F", "on-miss", "…"):
        assert words in done.stdout, words


def test_no_line_of_a_text_is_a_request() -> None:
    """A text that begins with a dot or an apostrophe, or has a backslash, stays text."""
    requests = {line.split()[0] for line in page("1.2.0").splitlines() if line[:1] in {".", "'"}}

    assert requests <= {".TH", ".SH", ".SS", ".TP", ".B", ".I", ".RI", ".PP", ".EX", ".EE"}


def test_a_build_needs_the_standard_library_only() -> None:
    """A build of its own has no other package, and no metadata of this one (`.ci/man_page.py`)."""
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import bot.cli.help.man as man"
    words = (sys.executable, "-I", "-S", "-c", f"{code}; print(man.page('1.2.0'), end='')")
    done = subprocess.run(words, capture_output=True, text=True, check=True)

    assert done.stdout == page("1.2.0")
