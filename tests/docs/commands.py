"""Split a block into commands, with the exit status and the output that the page shows.

An exit status is written in a comment after the command: ``# exit code 4: the id, at once``.
"""

import re
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tests.docs.blocks import Block

_STATUS = re.compile(r"#.*\bexit(?:s with|s| code| status) (\d+)")


@dataclass(frozen=True, slots=True)
class Command:
    """A command, its line on the page, its exit status, and the lines that it prints."""

    line: int
    text: str
    status: int = 0
    output: tuple[str, ...] = ()

    @property
    def bare(self) -> str:
        """The command without the comment after it."""
        return re.split(r"\s{2,}#", self.text)[0]


def commands(block: Block) -> list[Command]:
    """Return the commands of a block of ``sh`` or ``console``, in order."""
    numbered = list(enumerate(block.text.splitlines(), block.line))
    found = _console(numbered) if block.language == "console" else _script(numbered)
    return [one for one in found if not one.text.startswith("#")]


def _script(lines: Iterable[tuple[int, str]]) -> Iterator[Command]:
    kept: list[str] = []
    for number, line in lines:
        if not kept and not line.strip():
            continue
        kept.append(line)
        text = "\n".join(kept)
        if _is_whole(text):
            yield _command(number - len(kept) + 1, text)
            kept = []
    assert not kept, f"line {number}: this does not end: {text}"


def _console(lines: Iterable[tuple[int, str]]) -> Iterator[Command]:
    texts: list[tuple[int, str]] = []
    printed: list[list[str]] = []
    for number, line in lines:
        if line.startswith("$ "):
            texts.append((number, line.removeprefix("$ ")))
            printed.append([])
        elif line.startswith("> "):
            texts[-1] = (texts[-1][0], f"{texts[-1][1]}\n{line.removeprefix('> ')}")
        elif line.strip():
            printed[-1].append(line)
    for (number, text), output in zip(texts, printed, strict=True):
        yield _command(number, text, tuple(output))


def _command(line: int, text: str, output: tuple[str, ...] = ()) -> Command:
    status = _STATUS.search(text)
    return Command(line, text, int(status[1]) if status else 0, output)


def _is_whole(text: str) -> bool:
    """Return whether bash would run this now, instead of waiting for another line."""
    if text.endswith("\\"):
        return False
    done = subprocess.run(["bash", "-nc", text], capture_output=True, check=False)
    return not done.stderr
