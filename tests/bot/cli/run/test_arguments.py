"""Read the words of `sayso run` the quick way as the parser does, or not at all."""

import contextlib
import io
import subprocess
import sys
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.cli import build_parser
from bot.cli.run.arguments import CHOICES, FLAGS, VALUES, quick

ROOT = Path(__file__).parents[4]
_PARSER = build_parser("run")
_PLAIN = st.sampled_from(
    ["a", "x y", "1", "2.5", "k=v", "=", "gateway", "always", "deny", "é", "1e9"]
)
_ODD = st.sampled_from(["", "-", "--", "-x", "-5", "-c", "-cx", "--agent=x", "--age", "-h", "nan"])
_OPTIONS = st.sampled_from(["-c", *VALUES, *FLAGS])
_CHOSEN = st.sampled_from([word for words in CHOICES.values() for word in words])
_WORDS = st.lists(st.one_of(_OPTIONS, _OPTIONS, _PLAIN, _CHOSEN, _ODD), max_size=8)


@settings(max_examples=300)
@given(_WORDS, st.lists(st.one_of(_PLAIN, _ODD), max_size=4))
def test_words_are_read_as_the_parser_reads_them(before: list[str], after: list[str]) -> None:
    """Whatever the quick way reads, the parser reads the same, and refuses nothing of it."""
    words = [*before, "--", *after] if after else before
    found = quick(words)
    if found is None:
        return

    with contextlib.redirect_stderr(io.StringIO()):
        expected = vars(_PARSER.parse_args(["run", *words]))

    assert {**vars(found), "timeout": str(found.timeout)} == {
        key: str(value) if key == "timeout" else value
        for key, value in expected.items()
        if key not in {"command", "run", "version", "parser"}
    }


def test_plain_words_need_no_parser() -> None:
    """The common forms are read the quick way; help, mistakes and short forms are not."""
    for words in (
        ["-c", "git status"],
        ["--", "make", "-j", "--", "x"],
        ["--agent", "coder", "--cwd", "/srv", "--timeout", "5", "--no-wait", "-c", "ls"],
        ["--env", "A=1", "--env", "B=2", "--json", "--host", "gateway", "--", "true"],
        ["--stdin", "--pty", "--", "cat"],
    ):
        assert quick(words) is not None, words
    for words in (["--help"], ["true"], ["-cls"], ["--agent"], ["--host", "moon"], ["--agent=x"]):
        assert quick(words) is None, words


def test_a_plain_run_loads_neither_parser_nor_library() -> None:
    """What precedes every command of an agent starts lean: a short list of modules."""
    script = (
        "import sys; before = set(sys.modules)\n"
        "from bot.cli import main\n"
        "main(['run', '-c', 'x'])\n"
        "print(' '.join(sorted(set(sys.modules) - before)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{script}"],
        capture_output=True,
        text=True,
        check=True,
        env={"SAYSO_HOME": "/nonexistent"},
    )
    loaded = {name for name in done.stdout.split() if not name.startswith(("bot", "core"))}

    assert not loaded & {"argparse", "gettext", "json", "socket", "base64", "signal", "asyncio"}
    assert "No gateway is listening" in done.stderr
