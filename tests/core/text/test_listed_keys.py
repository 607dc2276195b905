"""Mask a private key however a program lists it, and nothing else of what it prints."""

import base64
import random
import re
import subprocess
import time
import urllib.parse
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from core.text.listed_keys import listed_pieces
from core.text.render import printed
from tests.support.tables import rows

_FRAME = "-----{} RSA " + "PRIVATE KEY-----"
_KEY = base64.encodebytes(random.Random(11).randbytes(700)).decode().replace("\n", "")
_LINES = [_KEY[at : at + 64] for at in range(0, len(_KEY), 64)]
KEY = "\n".join((_FRAME.format("BEGIN"), *_LINES, _FRAME.format("END"))) + "\n"
ENCRYPTED = KEY.replace("\n", "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A\n\n", 1)


def shown_of(text: str) -> list[str]:
    """Return which lines of the key can be read in what is shown of a program's output."""
    shown = printed(text, 1_000_000).text
    return [line for line in _LINES if spoken(line, shown) or line[:40] in shown]


@rows("key", [KEY, ENCRYPTED])
def test_no_program_lists_a_key_in_the_clear(key: str) -> None:
    """The real programs, over a key between lines of something else."""
    for command in (
        "cat -n k",
        "nl -ba k",
        "grep -n '' k",
        "grep -Hn '' k",
        "grep -H '' k",
        "grep -n -C 99 BEGIN k",
        "grep -Hn -C 99 BEGIN k",
        "diff empty k",
        "diff k empty",
        "diff -u empty k",
        "diff -u k empty",
        "git diff --no-index empty k",
        "git diff --no-index k empty",
        "sed 's/^/> /' k",
        "sed 's/^/# /' k",
        "sed 's/^/app_1  | /' k",
        'awk \'{ print "Dec 01 03:15:" 10 + NR " host app[" NR "]: " $0 }\' k',
        'awk \'{ print "12:00:" NR "Z\\t" $0 "\\r" }\' k',
        "cat -A k",
        "cat -nA k",
        "sed -n 'l 200' k",
        "sed = k",
        "cat -n k | sed G",
        "sed 's/.*/\"&\",/' k",
        "sed 's/.*/| & |/' k",
        "sed 's/^/\x1b[32m+\x1b[m/; s/$/\x1b[m/' k",
        "tr '\\n' ',' < k",
        "tr '\\n' '\\0' < k",
        "strings -t x k",
        "tac k",
        "diff --color=always -u empty k",
        "git diff --no-index --color=always empty k",
        "git diff --no-index --word-diff empty k",
        "paste -d, k k",
        "head -n 9 k | cat -A",
        "head -n 9 k | sed 's/^/> /; s/$/ </'",
        "tail -n 9 k",
        "tail -n 9 k | cat -n",
        "tail -n 9 k | cat -A",
        "python3 -c 'print(open(\"k\").readlines())'",
        "python3 -c 'import pprint; pprint.pprint(open(\"k\").readlines())'",
        "python3 -c 'import json; print(json.dumps(json.dumps(open(\"k\").read())))'",
        "python3 -c 'import json; print(json.dumps(open(\"k\").readlines(), indent=1))'",
        "python3 -c 'import urllib.parse as u; print(u.quote(open(\"k\").read()))'",
        "python3 -c 'import urllib.parse as u; print(u.quote_plus(open(\"k\").read()))'",
        'set -x; while read -r l; do echo "$l"; done < k 2>&1',
        'bash -c \'while read -r l; do printf "%q\\n" "$l"; done < k\'',
    ):
        out = listed(command, f"first line\n{key}last line\n")
        part = re.match(r"(?:head|tail) -n", command)
        assert part or [one for one in _LINES if not spoken(one, out)] == [], command
        assert shown_of(out) == [], command
        shown = urllib.parse.unquote_plus(printed(out, 1_000_000).text)
        assert command.startswith("tail") or re.search(r"first\\? +line", shown), command
        assert command.startswith("head") or re.search(r"last\\? +line", shown), command


def spoken(line: str, out: str) -> bool:
    """Return whether a line is in an output, as it is or with its signs in code."""
    return line in out or urllib.parse.quote(line) in out or urllib.parse.quote_plus(line) in out


def listed(command: str, content: str) -> str:
    """Return what a command prints in a folder with a file ``k`` and an empty one."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "k").write_text(content)
        (Path(folder) / "empty").touch()
        done = subprocess.run(
            ["sh", "-c", command], cwd=folder, capture_output=True, text=True, check=False
        )
    return done.stdout


@rows(
    "text",
    [
        "\n".join(f"{n}\t{line}" for n, line in enumerate(_LINES)),
        f"1:{_FRAME.format('BEGIN')}\n2:echo hello\n3:{_LINES[0]}",
        f"1:{_FRAME.format('BEGIN')}\n{_LINES[0]}x y",
        f"see {_FRAME.format('BEGIN')} and\nsee the documentation of it",
        f"{_FRAME.format('BEGIN')}\nas in docs/explanation\n{_FRAME.format('END')}",
        f"k:1:{_FRAME.format('BEGIN')}\nk:9:{_FRAME.format('END')}\ndocs/explanation/running",
        f"README\nLICENSE\nsee above\n{_FRAME.format('END')}",
        "",
        "\n\n",
    ],
)
def test_other_text_stays(text: str) -> None:
    """Without the head of a key, or in a line that begins otherwise, nothing is one."""
    assert [one.text for one in listed_pieces(text)] == [text]


def test_the_pieces_are_the_text() -> None:
    """Nothing is lost or added; the head, the numbers and what follows stay open."""
    text = listed("cat -n k", f"a\n{KEY}z\n{KEY}")
    pieces = list(listed_pieces(text))

    assert "".join(one.text for one in pieces) == text
    assert [one.text for one in pieces if one.kind] == 2 * _LINES


@pytest.mark.parametrize(
    "text",
    [
        f"x{_FRAME.format('BEGIN')}\n" * 6_000,
        f"x {_FRAME.format('BEGIN')}\n" + "x Version: 1\n" * 15_000,
        f"x: {_FRAME.format('BEGIN')} Version: 1\n" * 5_000,
        f"x\n{_FRAME.format('BEGIN')} {_FRAME.format('BEGIN')}\n" * 3_000,
        f"x {_FRAME.format('BEGIN')}\n" + "x \n" * 60_000,
        f"x {_FRAME.format('BEGIN')}\nx " + "A" * 200_000,
        "x" * 200_000 + _FRAME.format("BEGIN") + "\n" + "x" * 200_000,
        f"- {_FRAME.format('BEGIN')}\n" + "-:" * 100_000,
    ],
    ids=range(8),
)
def test_a_hostile_text_costs_little(text: str) -> None:
    """Linear in its length; four times as much time on a slow machine is still below the bound."""
    began = time.process_time()
    for _ in listed_pieces(text):
        pass
    assert time.process_time() - began < 1.0
