"""Refuse on the command line, in words: numbers, files, places that are full."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bot.cli import main
from core.audit.chain import Head, head_text, sealed

ROOT = Path(__file__).parents[3]


def told(
    capsys: pytest.CaptureFixture[str], *words: str, usage: bool = False
) -> tuple[int, str, str]:
    """Run one command here; return its exit code and what it printed."""
    if usage:
        with pytest.raises(SystemExit) as ended:
            main([*words])
        code = ended.value.code
        assert isinstance(code, int)
    else:
        code = main([*words])
    found = capsys.readouterr()
    return code, found.out, found.err


@pytest.mark.parametrize("seconds", ["nan", "inf", "1e400", "0", "-5", "86401", "soon", ""])
@pytest.mark.parametrize(
    "words",
    [
        ("run", "--timeout", "{}", "--", "ls"),
        ("run", "--timeout={}", "-c", "ls"),
        ("exec", "web1", "--timeout", "{}", "--", "ls"),
        ("doctor", "--seconds", "{}"),
    ],
)
def test_a_duration_is_a_time_above_zero(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], seconds: str
) -> None:
    """Nothing impossible is requested, and nothing is rounded up to a possible time."""
    code, _, error = told(capsys, *(word.format(seconds) for word in words), usage=True)

    assert code == 2
    assert f"{seconds!r} is not a number of seconds above 0, and at most 86,400 (one day)" in error


@pytest.mark.parametrize("number", ["0", "-3", "1.5", "many"])
@pytest.mark.parametrize(
    "words", [("audit", "tail"), ("history",), ("pending",), ("events", "drain", "main")]
)
def test_a_limit_is_one_or_more(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], number: str
) -> None:
    """A number that means neither does not print nothing, nor everything."""
    code, _, error = told(capsys, *words, "--limit", number, usage=True)

    assert code == 2
    assert f"{number!r} is not a whole number of 1 or more" in error


@pytest.mark.parametrize("pair", ["FOO", "=x", ""])
def test_a_variable_has_a_name_and_a_value(capsys: pytest.CaptureFixture[str], pair: str) -> None:
    """A forgotten value is not an empty one."""
    code, _, error = told(capsys, "run", "--env", pair, "-c", "ls")

    assert code == 2
    assert f"--env {pair}: write NAME=VALUE" in error


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """Return a journal of three records with its head file."""
    path, head = tmp_path / "audit.jsonl", Head()
    lines = []
    for number in range(3):
        line, head = sealed({"number": str(number)}, "vote", head)
        lines.append(line)
    path.write_bytes(b"".join(lines))
    path.with_name("audit.jsonl.head").write_bytes(head_text(head))
    return path


@pytest.mark.parametrize("action", ["verify", "tail"])
@pytest.mark.parametrize(
    ("kind", "why"),
    [("absent", "No such file or directory"), ("a folder", "Is a directory")],
)
def test_a_journal_that_cannot_be_read_is_no_broken_chain(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, action: str, kind: str, why: str
) -> None:
    """A wrong name is a misuse, reported in one line; 3 is for a chain that was found broken."""
    path = tmp_path if kind == "a folder" else tmp_path / "none"

    assert told(capsys, "audit", action, "--file", str(path)) == (
        2,
        "",
        f"sayso: {path} cannot be read: {why}.\n",
    )


def test_the_end_of_a_journal_is_read_by_people(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """What is empty is left out, words with blanks are quoted, and nothing is Python's."""
    path = tmp_path / "audit.jsonl"
    record = {"at": "now", "kind": "finish", "by": "uid:0", "code": 0, "command": "uname -a"}
    more = {"note": "", "rules": ["a b"], "signal": None, "timed_out": False, "votes": []}
    path.write_text(json.dumps({**record, **more}) + "\n")
    _, out, _ = told(capsys, "audit", "tail", "--file", str(path))
    words = 'command="uname -a" rules=["a b"] timed_out=false'

    assert out == f"now  finish    by=uid:0 code=0 {words}\n"


@pytest.mark.parametrize("content", [b"\xff\xfe\n", b"[1]\n", b"{}\n", b"junk\n"])
def test_the_end_of_what_is_no_journal(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: bytes
) -> None:
    """The line is named, whether it is not text, not JSON, or not a record."""
    path = tmp_path / "file"
    path.write_bytes(b'{"at":"now","kind":"vote"}\n' + content)
    code, out, error = told(capsys, "audit", "tail", "--file", str(path))

    assert (code, out) == (2, "now  vote      \n")
    assert error.startswith(f"sayso: {path}:2: not a journal line")


def test_a_broken_line_is_named_once(capsys: pytest.CaptureFixture[str], journal: Path) -> None:
    """File and line come first, as compilers write it, then the reason alone."""
    journal.write_bytes(journal.read_bytes().replace(b'"number":1', b'"number":7'))

    assert told(capsys, "audit", "verify", str(journal))[:2] == (
        3,
        f"{journal}:2: its hash does not match its text: it was changed\n",
    )


def test_a_journal_that_was_taken_away_is_a_broken_chain(
    capsys: pytest.CaptureFixture[str], journal: Path
) -> None:
    """Its head file shows that there was one."""
    journal.unlink()
    code, out, _ = told(capsys, "audit", "verify", str(journal))

    assert (code, out) == (3, f"{journal}:1: 3 lines were acknowledged, 0 are left: cut off\n")


def test_the_head_is_printed_to_be_noted(capsys: pytest.CaptureFixture[str], journal: Path) -> None:
    """The hash of the last line, for people and in JSON."""
    last = json.loads(journal.read_bytes().splitlines()[-1])["hash"]

    _, out, _ = told(capsys, "audit", "verify", str(journal))
    assert out == f"{journal}: 3 records, the chain is intact, head {last}\n"
    _, out, _ = told(capsys, "audit", "verify", str(journal), "--json")
    assert json.loads(out)["head"] == last


def redirected(
    tmp_path: Path, words: str, redirection: str, **environ: str
) -> subprocess.CompletedProcess[bytes]:
    """Run a command in a home of its own, with its streams redirected by a shell."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    return subprocess.run(
        ["sh", "-c", f'"$0" -m bot {words} {redirection}', sys.executable],
        cwd=ROOT,
        env={**os.environ, "SAYSO_HOME": str(home), **environ},
        capture_output=True,
        check=False,
        timeout=60,
        stdin=subprocess.DEVNULL,
    )


@pytest.mark.parametrize(
    ("redirection", "code", "error"),
    [
        (">&-", 0, b""),
        (">&- 2>&-", 0, b""),
        (">/dev/full", 1, b"sayso: cannot write the output (No space left on device)\n"),
        ("| true", 0, b""),
    ],
)
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", ["exec identity", "--help", "run --help"])
def test_an_output_without_a_place_is_no_traceback(
    tmp_path: Path, redirection: str, code: int, error: bytes, unbuffered: str, words: str
) -> None:
    """Closed, full or unread: one line at most."""
    done = redirected(tmp_path, words, redirection, PYTHONUNBUFFERED=unbuffered)

    assert (done.returncode, done.stdout, done.stderr) == (code, b"", error)


@pytest.mark.parametrize("redirection", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(
    ("words", "code"),
    [("init", 2), ("companion", 2), ("policy explain -c true", 0), ("policy test", 0)],
)
def test_a_closed_stream_is_no_traceback(
    tmp_path: Path, words: str, code: int, redirection: str
) -> None:
    """What a daemon's parent closed is /dev/null; commands do what they do without a terminal."""
    done = redirected(tmp_path, words, redirection)

    assert b"Traceback" not in done.stderr
    assert done.returncode == code


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8:strict"])
@pytest.mark.parametrize(
    "words",
    ["--help", "help", "policy explain -c 'echo …'", "audit verify --file nothing…"],
)
def test_a_letter_that_the_locale_lacks_is_no_traceback(
    tmp_path: Path, words: str, encoding: str
) -> None:
    """Where a terminal's character set has no such letter, its number is printed."""
    done = redirected(tmp_path, words, "", PYTHONIOENCODING=encoding)

    assert b"Traceback" not in done.stderr
    assert b"\\u2026" in done.stdout + done.stderr or encoding.startswith("utf")


def test_json_is_utf_8_whatever_the_locale(tmp_path: Path) -> None:
    """Programs read the same there as anywhere; an escape such as that of ``help`` is no JSON."""
    done = redirected(tmp_path, "policy explain --json -c 'echo é…'", "", PYTHONIOENCODING="ascii")

    assert "echo é…" in json.loads(done.stdout.decode())["segments"][0]["argv"]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a home that is in effect."""
    monkeypatch.setenv("SAYSO_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


ID = "a" * 64


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("web1", "zz", ID), "--agent-id: must be 64 lowercase hex digits."),
        (("web1", ID, "A" * 64), "--machine-id: must be 64 lowercase hex digits."),
        (
            ("Web 1", ID, ID),
            "NAME: must have 1 to 32 of a-z, 0-9, _, . and -, and begin with a-z or 0-9.",
        ),
        (("web1", ID, ID, "--address", "moon"), "--address: "),
        (
            ("web1", ID, ID, "--address", "127.0.0.1:1"),
            "a TLS address needs the host's fingerprint.",
        ),
        (("sessions", ID, ID), "`sayso exec sessions` is a subcommand. Choose another name "),
        (("identity", ID, ID), "`sayso exec identity` is a subcommand. Choose another name "),
        (("contacts", ID, ID), "`sayso exec contacts` is a subcommand. Choose another name "),
    ],
)
def test_a_contact_is_refused_by_the_option_that_is_wrong(
    capsys: pytest.CaptureFixture[str], home: Path, words: tuple[str, ...], expected: str
) -> None:
    """In our words, with the command line's names; nothing is kept."""
    name, agent, machine, *more = words
    ids = ("--agent-id", agent, "--machine-id", machine)
    code, out, error = told(capsys, "exec", "contacts", "add", name, *ids, *more)

    assert (code, out) == (2, "")
    assert error.startswith(f"sayso: {expected}")
    assert not (home / "exec-contacts.json").exists()


def test_the_check_of_an_access_list_answers_in_json(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Failures are on standard error like any other's; the exit code is that of the words."""
    path = tmp_path / "acl.toml"
    path.write_text("[exec]\nenabled = 1\nx = 2\n")
    code, out, error = told(capsys, "check", "--exec-acl", str(path), "--json")
    assert (code, out) == (2, "")
    found = json.loads(error)["error"]
    assert (found["type"], found["exitCode"]) == ("ConfigError", 2)
    assert found["problems"] == [
        f"{path}:2: exec.enabled: must be true or false.",
        f"{path}:3: exec.x: is not a known key; remove it, or correct its name.",
    ]

    path.write_text(
        f'[exec]\nenabled = true\n[[exec.allow]]\nagent_id = "{ID}"\nmachine_id = "{ID}"\n'
        '[[exec.allow.commands]]\nargv = ["a;b"]\n'
    )
    code, out, error = told(capsys, "check", "--exec-acl", str(path))
    assert (code, out) == (0, f"{path}: ok (1 pair, 1 command, enabled)\n")
    assert error.startswith(f"warning: {path}:7: exec.allow.0.commands.0.argv: no request can ")


@pytest.mark.parametrize(
    ("expires", "why"),
    [
        ("15s", "'15s': a token lasts from 60s to 10 years"),
        ("600w", "'600w': a token lasts from 60s to 10 years"),
        ("0s", "'0s' is not a duration such as 30m or 7d (units: s, m, h, d, w)"),
    ],
)
def test_the_life_of_a_token_has_bounds_that_are_told(
    capsys: pytest.CaptureFixture[str], expires: str, why: str
) -> None:
    """By the option's name, before anyone is asked."""
    words = ("token", "create", "ci", "--scope", "read", "--expires", expires)
    code, _, error = told(capsys, *words, usage=True)

    assert code == 2
    assert "argument --expires: " in error
    assert why in error
