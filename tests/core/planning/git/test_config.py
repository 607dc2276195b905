"""Read git's configurations as git reads them, or say that it cannot be done."""

import random
import subprocess
from pathlib import Path

from core.planning.git.config import UnreadableConfig, read_settings

PIECES = (
    *("[core]", "[Core]", '[a "B.c"]', "[a.B]", '[a "q\\"\\\\"]', "[a-1]"),
    *("[a", '[a "b]', '[a\t"b"]', "[ a]", "\n", "\n", "\n", "\n", "\r\n", "\t", "  "),
    *("=", " = ", "#c", ";", "\\\n", "\\", '"', "\\n", "\\q", "key", "KEY2", "k-y", "1k", "_k"),
    *("true", " value ", "a b  c", '"x y "', "!sh", "ü", "\x0c", "[", "]"),
)


def drawn(dice: random.Random) -> str:
    """Return a text that is nearly a configuration."""
    if dice.random() < 0.5:
        return "".join(dice.choices(PIECES, k=dice.randint(1, 12)))
    lines = []
    for _ in range(dice.randint(1, 4)):
        lines.append(dice.choice(PIECES[:6]) + dice.choice(("", " ", " # c", "x = 1")))
        value = "".join(dice.choices(PIECES, k=dice.randint(0, 3)))
        lines.append(f"\t{dice.choice(('key', 'K2', 'a-b'))}{dice.choice(('', ' = ', '='))}{value}")
    return "\n".join(lines)


def by_git(text: str, path: Path) -> list[tuple[str, str]] | None:
    """Return what git reads, ``None`` if it refuses the text."""
    path.write_bytes(text.encode())
    words = ["git", "config", "--file", str(path), "--null", "--list", "--no-includes"]
    found = subprocess.run(words, capture_output=True, check=False)
    if found.returncode:
        return None
    pairs = (one.partition("\n") for one in found.stdout.decode().split("\0")[:-1])
    return [(name, value) for name, _, value in pairs]


def test_what_is_read_is_what_git_reads(tmp_path: Path) -> None:
    """Over drawn texts: never another setting, and git refuses none that is accepted."""
    dice, taken = random.Random(20), 0
    for _ in range(700):
        text = drawn(dice)
        found = read_settings(text)
        if isinstance(found, UnreadableConfig):
            continue
        taken += len(found) > 0
        # Between words git 2.39 turns a tab into a blank, 2.46 leaves it.
        read = [(one.name, one.value.replace("\t", " ")) for one in found]
        meant = by_git(text, tmp_path / "c")
        assert meant is not None
        assert [(name, value.replace("\t", " ")) for name, value in meant] == read, text
    assert taken > 100


def test_a_lax_reader_would_be_caught(tmp_path: Path) -> None:
    """The control: rejected texts do mean something else to git than they seem to."""
    text = '[core]\n\ta = 1 \\\n[filter "x"]\n\tclean = sh\n'

    assert read_settings(text) == UnreadableConfig(2)
    assert by_git(text, tmp_path / "c") == [("core.a", "1 [filter x]"), ("core.clean", "sh")]
