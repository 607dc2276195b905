"""Run `sayso approvals` as a real process, on a real home."""

import json
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import core
from core.approvals.file.file import ApprovalsFile
from core.approvals.file.last_use import LastUse
from core.approvals.file.usage import Usage
from tests.support.product_process import run

ROOT = Path(core.__file__).parents[1]
Done = subprocess.CompletedProcess[str]


class Home:
    """A scratch $SAYSO_HOME and the command on it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file = path / "exec-approvals.json"

    def sayso(self, *words: str, stdin: str = "") -> Done:
        """Run ``sayso approvals …``."""
        return run(
            [sys.executable, "-m", "bot", "approvals", *words],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=50,
            check=False,
            cwd=ROOT,
            env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "SAYSO_HOME": str(self.path)},
        )

    def json(self) -> dict[str, Any]:
        """Return what is in the file."""
        text: dict[str, Any] = json.loads(self.file.read_text())
        return text


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """Return a home that does not exist yet."""
    return Home(tmp_path / "home")


def test_without_a_file_that_is_said(home: Home) -> None:
    """Looking creates nothing."""
    done = home.sayso("get")
    assert (done.returncode, done.stderr) == (0, "")
    assert "does not exist: only tools.exec" in done.stdout
    assert not home.path.exists()


def test_adding_listing_and_removing(home: Home) -> None:
    """A pattern is added once, shown, and removed by pattern or by id."""
    first = home.sayso("allowlist", "add", "/usr/bin/rg", "--agent", "coder", "--json")
    assert first.returncode == 0, first.stderr
    again = home.sayso("allowlist", "add", "/usr/bin/rg", "--agent", "coder", "--json")
    assert json.loads(first.stdout) == json.loads(again.stdout)
    assert json.loads(first.stdout)["agent"] == "coder"
    assert stat.S_IMODE(home.file.stat().st_mode) == 0o600
    assert stat.S_IMODE(home.path.stat().st_mode) == 0o700
    none = home.sayso("allowlist", "list")
    assert (none.stdout, none.stderr) == ("", f"note: no entries for agent main in {home.file}\n")
    assert home.sayso("allowlist", "list", "--agent", "coder").stdout == "/usr/bin/rg\n"
    entry_id = json.loads(first.stdout)["id"]
    removed = home.sayso("allowlist", "remove", entry_id, "--agent", "coder")
    assert removed.returncode == 0
    assert removed.stderr == ""
    assert (home.path / "audit.jsonl").read_text().count('"approvals file"') == 2
    missing = home.sayso("allowlist", "remove", "/usr/bin/rg", "--agent", "coder")
    assert missing.returncode == 2
    assert "has no entry /usr/bin/rg" in missing.stderr


def test_what_was_used_is_shown(home: Home) -> None:
    """Each entry shows when and for what it was last used, as text and as JSON."""
    home.sayso("allowlist", "add", "/usr/bin/rg")
    usage = Usage(ApprovalsFile(home.file))
    usage.note("main", "/usr/bin/rg", LastUse(1737150000000, "rg -n word", "/usr/bin/rg"))
    usage.flush()
    assert "last used 2025-01-17 21:40 UTC: rg -n word" in home.sayso("get").stdout
    shown = json.loads(home.sayso("get", "--json").stdout)
    (entry,) = shown["agents"]["main"]["allowlist"]
    assert entry["lastUsedAt"] == 1737150000000
    assert "token" not in shown["socket"]
    other = json.loads(home.sayso("get", "--agent", "other", "--json").stdout)
    assert other["agents"] == {}
    assert "rg" not in home.sayso("get", "--agent", "other").stdout


def test_a_stored_command_is_escaped_once(home: Home) -> None:
    """It was escaped when it was stored; what an editor put into the file is escaped here."""
    home.sayso("allowlist", "add", "/usr/bin/rg")
    usage = Usage(ApprovalsFile(home.file))
    usage.note("main", "/usr/bin/rg", LastUse(1, "rg \\u{202E}x\u202e", "/usr/bin/rg"))
    usage.flush()
    for words in (("get",), ("allowlist", "list")):
        assert home.sayso(*words).stdout.rstrip().endswith("rg \\u{202E}x\\u{202E}")


def test_settings_are_words_of_json(home: Home) -> None:
    """What the file says as ``false`` is printed as ``false``."""
    text = {"version": 1, "defaults": {"ask": "always", "autoAllowSkills": False}}
    assert home.sayso("set", "--stdin", stdin=json.dumps(text)).returncode == 0
    assert "defaults: ask always, autoAllowSkills false\n" in home.sayso("get").stdout


def test_setting_from_a_file_and_from_standard_input(home: Home, tmp_path: Path) -> None:
    """What ``get --json`` prints can be changed and set again; the token stays."""
    home.sayso("allowlist", "add", "/usr/bin/rg")
    before = home.json()
    text = json.loads(home.sayso("get", "--json").stdout)
    text["defaults"] = {"ask": "always"}
    done = home.sayso("set", "--stdin", stdin=json.dumps(text))
    assert done.returncode == 0, done.stderr
    assert home.json() == {**before, "defaults": {"ask": "always"}}
    source = tmp_path / "new.json"
    source.write_text('{"version": 1, "agents": {"main": {"allowlist": [{"pattern": "rg"}]}}}')
    done = home.sayso("set", "--file", str(source))
    assert done.returncode == 0
    assert "ignored, a name without a path" in done.stderr
    assert home.json()["socket"] == before["socket"]
    assert "ask always" not in home.sayso("get").stdout


def test_what_is_printed_without_a_file_can_be_changed_and_set(home: Home) -> None:
    """As the help has it: `get --json | jq … | set --stdin`; there is no file, and it says so."""
    text = {"version": 1, "agents": {}}
    for agent in ((), ("--agent", "main")):
        assert "does not exist" in home.sayso("get", *agent).stdout
        assert json.loads(home.sayso("get", *agent, "--json").stdout) == text
    done = home.sayso("set", "--stdin", stdin=json.dumps({**text, "defaults": {"ask": "always"}}))
    assert done.returncode == 0, done.stderr
    assert home.json()["defaults"] == {"ask": "always"}


@pytest.mark.parametrize(
    ("words", "stdin", "code", "says"),
    [
        (("allowlist", "add", "rg"), "", 2, "never matches"),
        (("allowlist", "add", "/usr/bin/rg", "--agent", "*"), "", 2, "Name one"),
        (("allowlist", "add", "/bin/rg", "--agent", "../x\n"), "", 2, "is not an agent's name: it"),
        (
            ("allowlist", "add", "--dry-run", "/bin/rg", "--agent", "x\n"),
            "",
            2,
            "not an agent's name",
        ),
        (("allowlist", "remove", "/bin/rg", "--agent", "x\x7f"), "", 2, "is not an agent's name"),
        (("set", "--stdin"), '{"version": 1, "agents": {"x\\n": {}}}', 2, "is not an agent's name"),
        (("allowlist", "add"), "", 2, "PATTERN"),
        (("allowlist", "add", "/usr/bin/env"), "", 2, "was not added: env is a wrapper"),
        (("allowlist", "add", "/bin/bash"), "", 2, "was not added: bash is a shell"),
        (("allowlist", "add", "/bin/python3", "--argv", "-c", "1"), "", 2, "takes code"),
        (("allowlist", "add", "--dry-run", "/bin/bash"), "", 2, "would not be added: bash is"),
        (("allowlist", "add", "/usr/bin/"), "", 2, "names a folder"),
        (("set",), "", 2, "--file"),
        (("set", "--file", "/nonexistent"), "", 2, "No such file"),
        (("set", "--stdin"), "{", 1, "the new text, line 1, column 2"),
        (("set", "--stdin"), '{"version": 1, "agents": {"main": {"ask": "no"}}}', 1, "main.ask"),
        (
            ("set", "--stdin"),
            '{"version": 1, "defaults": {"secuirty": "deny"}}',
            1,
            "did you mean 'security'? Nothing was changed; correct it.\n",
        ),
        (("nothing",), "", 2, "unknown command 'nothing'"),
    ],
)
def test_misuse_is_explained(
    home: Home, words: tuple[str, ...], stdin: str, code: int, says: str
) -> None:
    """Each failure has its exit code and one clear text, and creates nothing."""
    done = home.sayso(*words, stdin=stdin)
    assert done.returncode == code
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert "last-good" not in done.stderr  # no copy exists of a text that was never stored
    assert not home.file.exists()


def test_a_corrupt_file_is_named_and_can_be_replaced(home: Home) -> None:
    """Every command except ``set`` refuses it; ``set`` keeps a copy of it."""
    home.sayso("allowlist", "add", "/usr/bin/rg")
    home.file.write_text("{ broken")
    for words in (("get",), ("allowlist", "list"), ("allowlist", "add", "/usr/bin/fd")):
        done = home.sayso(*words)
        assert done.returncode == 1
        assert "line 1, column 3" in done.stderr
    assert home.file.read_text() == "{ broken"
    assert home.sayso("set", "--stdin", stdin='{"version": 1}').returncode == 0
    assert home.sayso("get").returncode == 0
    assert (home.path / "exec-approvals.json.broken").read_text() == "{ broken"


def test_nothing_shown_can_mislead_a_terminal(home: Home) -> None:
    """Escape sequences and invisible characters are printed as escapes."""
    pattern = "/opt/a\u202eb\u200b"
    home.sayso("allowlist", "add", pattern)
    for words in (("get",), ("allowlist", "list"), ("get", "--json")):
        assert not set("\u202e\u200b\x1b") & set(home.sayso(*words).stdout)


def test_an_entry_without_arguments_says_that_it_covers_any(home: Home) -> None:
    """The same words as in a prompt, where somebody reads what they have allowed."""
    done = home.sayso("allowlist", "add", "/usr/bin/rg")
    assert done.stdout == "/usr/bin/rg with any arguments may run for agent main\n"


def test_an_entry_for_exact_arguments_is_added_by_argv(home: Home) -> None:
    """Everything after ``--argv`` is an argument, including options of the program."""
    words = ("allowlist", "add", "--agent", "main", "/usr/bin/git", "--argv", "status", "--short")
    done = home.sayso(*words)
    assert done.stdout == "/usr/bin/git status --short exactly may run for agent main\n"
    (entry,) = home.json()["agents"]["main"]["allowlist"]
    assert (entry["pattern"], entry["argv"]) == ("/usr/bin/git", ["status", "--short"])
    assert home.sayso("allowlist", "list").stdout == "/usr/bin/git status --short exactly\n"
    refused = home.sayso("allowlist", "add", "/usr/bin/git", "--argv", "<FOO>")
    assert refused.returncode == 2
    assert "unknown template" in refused.stderr


@pytest.mark.parametrize(
    "words", [("get",), ("set",), ("allowlist", "add"), ("allowlist", "remove")]
)
def test_help_has_an_example(home: Home, words: tuple[str, ...]) -> None:
    """Each command's help shows how it is called."""
    assert f"sayso approvals {' '.join(words)} " in home.sayso(*words, "--help").stdout
