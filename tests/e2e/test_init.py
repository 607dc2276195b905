"""`sayso init` works from an empty home, on every platform; a stranger cannot become approver."""

import json
import os
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.support.gateway_process import ROOT
from tests.support.new_user import BOB, allow, say
from tests.support.platform_processes import ANA, SLACK_ANA, Chat, chats
from tests.support.product_process import run, start
from tests.support.terminal import Screen, in_terminal, terminal


@pytest.fixture(scope="module")
def platforms() -> Iterator[dict[str, Chat]]:
    """Yield the three servers."""
    with chats() as three:
        yield three


class Init:
    """`sayso init` without questions; each step as it is printed."""

    def __init__(self, home: Path, chat: Chat, *words: str, **environ: str) -> None:
        name, started = chat.name, chat.started
        home.parent.mkdir(exist_ok=True)
        section = chat.section()
        files = []
        keys = ("botToken", "appToken") if name == "slack" else ("token",)
        for option, key in zip(("--token-file", "--app-token-file"), keys, strict=False):
            (home.parent / key).write_text(f"{started[key]}\n")
            (home.parent / key).chmod(0o600)
            files += [option, str(home.parent / key)]
        self.environ = {
            **os.environ,
            **environ,
            "SAYSO_HOME": str(home),
            f"SAYSO_CHANNELS__{name.upper()}__APIBASEURL": str(section["apiBaseUrl"]),
        }
        self.process = start(
            [
                sys.executable,
                "-m",
                "bot",
                "init",
                "--channel",
                name,
                *files,
                "--yes",
                "--json",
                *words,
            ],
            cwd=ROOT,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def step(self, name: str) -> dict[str, Any]:
        """Return the next step of this name."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            found: dict[str, Any] = json.loads(line)
            if found["step"] == name:
                return found
        assert self.process.stderr is not None
        raise AssertionError(f"no step {name}: {self.process.stderr.read()}")

    def end(self) -> tuple[int, str]:
        """Wait for the end; return the exit code and standard error."""
        _, error = self.process.communicate(timeout=60)
        return self.process.returncode, error


@contextmanager
def init(home: Path, chat: Chat, *words: str, **environ: str) -> Iterator[Init]:
    """Run `sayso init` for as long as the block lasts."""
    running = Init(home, chat, *words, **environ)
    try:
        yield running
    finally:
        running.process.kill()
        running.process.communicate()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["telegram", "slack", "discord"])
def test_from_nothing_to_the_first_approval(
    tmp_path: Path, platforms: dict[str, Chat], name: str
) -> None:
    """Only the sender of the terminal's code answers; a wrong code makes no one an approver."""
    home, chat = tmp_path / "user" / ".sayso", platforms[name]
    with init(home, chat) as running:
        sent = running.step("code")["send"]
        say(chat, BOB, "/pair 00000000")
        say(chat, ANA, sent)
        found = running.step("approver")
        assert running.step("config")["path"] == str(home / "config.json5")
        allow(chat)
        assert running.step("end") == {"step": "end", "works": True}
        assert running.end() == (0, "")
    account = SLACK_ANA if name == "slack" else str(ANA)
    assert found["account"] == account
    for path in (home / "config.json5", *home.glob("*-token")):
        assert path.stat().st_mode & 0o777 == 0o600
    assert account in (home / "config.json5").read_text()
    assert (
        chat.started["token" if name != "slack" else "botToken"]
        not in (home / "config.json5").read_text()
    )


def test_in_a_terminal(tmp_path: Path) -> None:
    """One question, one key for the test prompt, and the next two commands."""
    environ = {**os.environ, "SAYSO_HOME": str(tmp_path / "home")}
    with terminal(sys.executable, "-m", "bot", "init", environ=environ) as (process, master):
        screen = Screen(master)
        screen.wait_for("Choose 1 to 4")
        screen.type("1\n")
        screen.wait_for("allow once")
        announced = screen.text.index("Now a test prompt, for `true`, which does nothing")
        assert announced < screen.text.index("Allow this command?")
        screen.answer("a")
        screen.wait_for("sayso run -c 'git status'")
        assert process.wait(30) == 0
    assert "was allowed, and `true` ran" in screen.text
    assert f'approvers: ["uid:{os.getuid()}"]' in (tmp_path / "home" / "config.json5").read_text()


def test_yes_waits_for_nobody(tmp_path: Path) -> None:
    """In a terminal too: no test prompt, and how to send one; the control is the test above."""
    environ = {**os.environ, "SAYSO_HOME": str(tmp_path / "home")}
    words = (sys.executable, "-m", "bot", "init", "--channel", "terminal", "--yes")
    code, printed = in_terminal(*words, environ=environ)
    assert (code, "Allow this command?" in printed) == (0, False), printed
    assert "sayso doctor channels --prompt" in printed
    assert "Sayso is set up" in printed


def test_the_end_of_the_input_writes_nothing(tmp_path: Path) -> None:
    """Ctrl-D at a question ends the command with one line."""
    environ = {**os.environ, "SAYSO_HOME": str(tmp_path / "home")}
    with terminal(sys.executable, "-m", "bot", "init", environ=environ) as (process, master):
        screen = Screen(master)
        screen.wait_for("Choose 1 to 4")
        screen.type("\x04")
        screen.wait_for("nothing was written")
        assert process.wait(30) == 2
    assert "Traceback" not in screen.text
    assert not (tmp_path / "home").exists()


def run_init(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run `sayso init` with these words to its end, without a terminal."""
    return run(
        [sys.executable, "-m", "bot", "init", *words],
        cwd=ROOT,
        env={**os.environ, "SAYSO_HOME": str(home)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_an_existing_configuration_stays(tmp_path: Path) -> None:
    """Nothing is overwritten, whatever was chosen."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "config.json5").write_text("{}")
    done = run_init(home, "--channel", "terminal", "--yes")
    assert (done.returncode, (home / "config.json5").read_text()) == (1, "{}")
    assert "nothing was changed" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "not a terminal"),
        (("--yes",), "--yes needs --channel"),
        (("--channel", "slack", "--token-file", "/dev/null", "--yes"), "--app-token-file"),
        (("--channel", "telegram", "--token-file", "/no/such", "--yes"), "No such file"),
    ],
)
def test_what_is_missing_is_named(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    """Without a terminal, nothing is asked and nothing is written."""
    done = run_init(tmp_path / "home", *words)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    assert not (tmp_path / "home").exists()


def test_a_wrong_token_writes_nothing(tmp_path: Path, platforms: dict[str, Chat]) -> None:
    """The platform's refusal is shown with what to do."""
    chat = platforms["telegram"]
    wrong = Chat(chat.name, {**chat.started, "token": "1:wrong"})
    with init(tmp_path / "user" / ".sayso", wrong) as running:
        code, error = running.end()
    assert (code, "rejected the bot token" in error) == (1, True), error
    assert not (tmp_path / "user" / ".sayso").exists()


@pytest.mark.slow
def test_nobody_who_sends_the_code_is_an_end(tmp_path: Path, platforms: dict[str, Chat]) -> None:
    """After the time limit nothing is written, and a stranger's words made no one an approver."""
    chat = platforms["telegram"]
    with init(tmp_path / "user" / ".sayso", chat, "--seconds", "3") as running:
        running.step("code")
        say(chat, BOB, "/pair 12345678")
        code, error = running.end()
    assert (code, "Nobody sent the code within 3 s" in error) == (1, True), error
    assert not (tmp_path / "user" / ".sayso").exists()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_an_interrupted_set_up_leaves_no_token(
    tmp_path: Path, platforms: dict[str, Chat], number: signal.Signals
) -> None:
    """The scratch home is removed however the command ends, short of kill -9."""
    left = tmp_path / "left"
    left.mkdir()
    with init(tmp_path / "user" / ".sayso", platforms["telegram"], TMPDIR=str(left)) as running:
        running.step("code")
        assert list(left.iterdir())
        running.process.send_signal(number)
        code, _ = running.end()
    assert code != 0
    assert list(left.iterdir()) == []


@pytest.mark.slow
def test_many_wrong_codes_end_it(tmp_path: Path, platforms: dict[str, Chat]) -> None:
    """No one can keep guessing."""
    chat = platforms["telegram"]
    with init(tmp_path / "user" / ".sayso", chat) as running:
        running.step("code")
        for guess in range(10):
            say(chat, BOB, f"/pair 0000000{guess}")
        code, error = running.end()
    assert (code, "too many wrong codes" in error) == (1, True), error
    assert not (tmp_path / "user" / ".sayso").exists()


def test_a_malformed_token_is_named_where_it_is(tmp_path: Path, platforms: dict[str, Chat]) -> None:
    """By the file that was given, not by a configuration that does not exist."""
    chat = platforms["telegram"]
    wrong = Chat(chat.name, {**chat.started, "token": "no token"})
    with init(tmp_path / "user" / ".sayso", wrong) as running:
        code, error = running.end()
    (problem,) = json.loads(error)["error"]["message"].splitlines()
    assert code == 2
    assert problem == (
        f"{tmp_path}/user/token: channels.telegram.token: must look like 123456789:AA…, as "
        "@BotFather gave it"
    )


@pytest.mark.slow
def test_a_token_that_others_can_read_is_warned_of(
    tmp_path: Path, platforms: dict[str, Chat]
) -> None:
    """In the doctor's words; the control: mode 0600 gets no warning (see the first test)."""
    home = tmp_path / "user" / ".sayso"
    for folder in (tmp_path.parent.parent, tmp_path.parent, tmp_path):
        folder.chmod(folder.stat().st_mode | 0o055)  # with --basetemp one of them may be /tmp
    home.parent.mkdir()
    token = home.parent / "open-token"
    token.write_text("1:wrong")
    token.chmod(0o644)
    with init(home, platforms["telegram"], "--token-file", str(token)) as running:
        _, error = running.end()
    warning = json.loads(error.splitlines()[0])["warning"]
    assert warning == f"{token} can be read by other users (mode 644); run: chmod 600 '{token}'"


@contextmanager
def another_poller(chat: Chat) -> Iterator[None]:
    """Poll with the same token for as long as the block lasts, as another program would."""
    url = f"http://127.0.0.1:{chat.started['port']}/bot{chat.started['token']}/getUpdates?timeout=1"
    ended = threading.Event()

    def poll() -> None:
        while not ended.is_set():
            with suppress(OSError), urllib.request.urlopen(url, timeout=10) as answer:
                answer.read()

    with ThreadPoolExecutor(1) as pool:
        polling = pool.submit(poll)
        try:
            yield
        finally:
            ended.set()
            polling.result(20)


@pytest.mark.slow
def test_another_poller_is_named_once(tmp_path: Path, platforms: dict[str, Chat]) -> None:
    """What takes the answers away, and what to do: one step, and nothing else on either stream."""
    chat = platforms["telegram"]
    with (
        another_poller(chat),
        init(tmp_path / "user" / ".sayso", chat, "--seconds", "8") as running,
    ):
        running.step("code")
        assert running.step("trouble")["detail"] == (
            "telegram: Another program is polling with this bot's token. Stop it, or give each "
            "gateway its own bot."
        )
        out, error = running.process.communicate(timeout=60)
    assert out == ""
    (line,) = error.splitlines()
    assert "Another program is polling" in json.loads(line)["error"]["message"]


@pytest.mark.slow
def test_another_poller_takes_the_answer_away(tmp_path: Path, platforms: dict[str, Chat]) -> None:
    """It started after the code: the test prompt that no one could answer says what interferes."""
    chat = platforms["telegram"]
    with init(tmp_path / "user" / ".sayso", chat, "--seconds", "8") as running:
        say(chat, ANA, running.step("code")["send"])
        running.step("config")
        with another_poller(chat):
            found = running.step("test")
            while found["subject"] != "answer":
                found = running.step("test")
            assert running.step("end") == {"step": "end", "works": False}
    assert "Another program is polling with this bot's token" in found["detail"]


def test_the_link_sends_the_code(tmp_path: Path, platforms: dict[str, Chat]) -> None:
    """A press on Start of the deep link sends `/start CODE`, which pairs as the code itself."""
    home, chat = tmp_path / "user" / ".sayso", platforms["telegram"]
    with init(home, chat) as running:
        link = running.step("code")["link"]
        head, _, code = link.partition("?start=")
        assert head.startswith("https://t.me/")
        say(chat, ANA, f"/start {code}")
        assert running.step("approver")["account"] == str(ANA)
        allow(chat)
        assert running.step("end")["works"]


@pytest.mark.slow
def test_the_test_prompt_has_a_name_of_its_own(tmp_path: Path) -> None:
    """In the history it is a test prompt, not a session of the doctor's."""
    environ = {**os.environ, "SAYSO_HOME": str(tmp_path / "home")}
    words = (sys.executable, "-m", "bot")
    with terminal(*words, "init", environ=environ) as (process, master):
        screen = Screen(master)
        screen.wait_for("Choose 1 to 4")
        screen.type("1\n")
        screen.wait_for("allow once")
        screen.answer("a")
        screen.wait_for("sayso run -c 'git status'")
        assert process.wait(30) == 0
    done = run(
        [*words, "history", "--json"], env=environ, cwd=ROOT, capture_output=True, check=True
    )
    (row,) = json.loads(done.stdout)
    assert row["session"].startswith("test-prompt-")
