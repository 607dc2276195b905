"""Read a shell's words as dash, bash and busybox read them."""

import subprocess

import pytest

from core.planning.code.words.shell_words import shell_words
from tests.support.tables import rows

SCRIPTS = (
    *("- notes", "+ notes", "-- notes", "-x - notes", "+ -x notes", "+ - notes", "+ + notes"),
    *("-e -- notes a", "+e - notes", "notes - a", "-ex notes", "- notes -c true"),
)
TEXTS = (
    *("-c TEXT", "-ec TEXT x", "+c TEXT", "-c -x TEXT", "-c - TEXT x", "-c + TEXT", "-c -- TEXT"),
    *("-x -c +x TEXT", "+ -c TEXT"),
)
FED = ("", "-", "-s a", "-es a", "-e", "+", "+ -", "--")


@rows("line", SCRIPTS)
def test_the_script(line: str) -> None:
    """It follows the options, however they end."""
    found = shell_words(tuple(line.split()))

    assert [one.path for one in found.scripts if one.sure] == ["notes"]
    assert not found.fed
    assert not found.texts


@rows("line", TEXTS)
def test_the_text(line: str) -> None:
    """It is the first word that is not an option; what follows is given to it."""
    found = shell_words(tuple(line.split()))

    assert found.texts == ("TEXT",)
    assert found.rest == tuple(line.split("TEXT")[1].split())
    assert not found.fed


@rows("line", FED)
def test_the_input(line: str) -> None:
    """No script is named, or ``-s`` says that it is the input."""
    found = shell_words(tuple(line.split()))

    assert found.fed
    assert not any(one.sure for one in found.scripts)


def test_what_an_option_may_have_taken_counts() -> None:
    """In addition to the word after it; a letter in such an option says nothing for certain."""
    assert [one.path for one in shell_words(("-o", "a", "b")).scripts] == ["a", "b"]
    assert "notes" in [one.path for one in shell_words(("-onocase", "notes", "x")).scripts]
    assert "x" in [one.path for one in shell_words(("--rcfile=x", "-i")).scripts]
    assert "notes" in [one.path for one in shell_words(("--rcfile", "notes", "-ic", ":")).scripts]
    assert ":" not in [one.path for one in shell_words(("--norc", "-ic", ":")).scripts]
    assert "notes" in [one.path for one in shell_words(("+s", "notes")).scripts]


@pytest.mark.parametrize("shell", ["dash", "bash"])
def test_real_shells_agree(shell: str) -> None:
    """What is read here is what they run."""
    for line in SCRIPTS:
        words = [word.replace("notes", "/dev/fd/0") for word in line.split()]
        ran = subprocess.run(
            (f"/usr/bin/{shell}", *words), input=b"echo ran\n", capture_output=True, check=False
        )
        assert ran.stdout == b"ran\n", line
    for line in TEXTS:
        words = ["echo ran" if word == "TEXT" else word for word in line.split()]
        ran = subprocess.run((f"/usr/bin/{shell}", *words), capture_output=True, check=False)
        assert ran.stdout == b"ran\n", line
