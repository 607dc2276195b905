"""Kill a real gateway while a CLI command waits for its answer: what is its caller told?"""

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.gateway_process import ROOT, GatewayProcess, write_config
from tests.support.terminal import in_terminal
from tests.support.waiting import wait_until

pytestmark = pytest.mark.timeout(240)

SEED = 20261128
KILLS = 5
SAYSO = "import sys; from bot.cli import main; sys.exit(main(sys.argv[1:]))"
FORGETFUL = (
    "from bot.client import Client; "
    f"Client.sent = property(lambda self: '', lambda self, value: None); {SAYSO}"
)
"""The control: a client that does not know whether it has sent its request."""
WITHOUT_KEY = (
    "import bot.cli.run.command as c; real = c.follow; "
    "c.follow = lambda method, params, *rest, **more: "
    f"real(method, {{k: params[k] for k in params if k != 'requestKey'}}, *rest, **more); {SAYSO}"
)
"""The control: a `sayso run` whose request has no key."""
IMPATIENT = f"from bot.cli.run import follow; follow._PATIENCE_S = 1.0; {SAYSO}"
NOT_REACHED = "No gateway is listening"
IN_DOUBT = "It may have acted on the request"
UNANSWERED = "no answer came: "
"""The reason then: the connection was closed, or reset if something on it was left unread."""


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[GatewayProcess]:
    """Run a gateway that dies where it is told to."""
    made = GatewayProcess(tmp_path / "home", module="tests.faults.gateway_that_dies")
    write_config(made.home, None)
    made.start()
    yield made
    made.stop()


def dies(gateway: GatewayProcess, method: str, moment: str) -> None:
    """Have it die, once, around a method."""
    (gateway.home / "die.new").write_text(f"{method} {moment}")
    (gateway.home / "die.new").rename(gateway.home / "die")


def is_dead(gateway: GatewayProcess) -> None:
    """Wait until it has died of it."""
    assert gateway.process is not None
    assert -signal.SIGKILL == gateway.process.wait(60)


def program(gateway: GatewayProcess, code: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a program over a gateway's home to its end, in its own session."""
    return subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=ROOT,
        env=gateway.environ(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
        start_new_session=True,
    )


def question(gateway: GatewayProcess, cwd: Path) -> str:
    """Ask for something that a person must allow; return its code."""
    gateway.cli("run", "--no-wait", "--cwd", str(cwd), "-c", "echo x >> ledger")
    return str(waiting(gateway)[0]["code"])


def waiting(gateway: GatewayProcess) -> list[dict[str, Any]]:
    """Return the questions that wait."""
    found: list[dict[str, Any]] = gateway.json("pending")
    return found


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_request_is_asked_once(gateway: GatewayProcess, tmp_path: Path, moment: str) -> None:
    """Killed before or after it is on record: the caller gets the answer to its one question."""
    dies(gateway, "exec.run", moment)
    asking = gateway.ask("--cwd", str(tmp_path), "-c", "echo x >> ledger")
    is_dead(gateway)
    gateway.start()
    (row,) = wait_until("the question", lambda: waiting(gateway))
    allowed = gateway.cli("approve", row["code"], "allow-once", own_session=True)
    out, err = asking.communicate(timeout=60)

    assert (0, "", 0) == (allowed.returncode, out, asking.returncode), err
    assert NOT_REACHED not in err
    assert "connection lost; reconnecting" in err
    assert "x\n" == (tmp_path / "ledger").read_text()
    assert 1 == len(gateway.json("history"))


@pytest.mark.slow
def test_without_a_key_who_asks_again_asks_twice(gateway: GatewayProcess, tmp_path: Path) -> None:
    """The control: the caller is told that it may already be asked; repeated, two are asked."""
    words = ("run", "--cwd", str(tmp_path), "-c", "echo x >> ledger")
    dies(gateway, "exec.run", "after")
    told = program(gateway, WITHOUT_KEY, *words)
    is_dead(gateway)
    gateway.start()
    again = gateway.cli(*words, "--no-wait")

    assert (5, 4) == (told.returncode, again.returncode)
    assert UNANSWERED in told.stderr
    assert f"{IN_DOUBT}, or may still act: see `sayso pending`" in told.stderr
    assert 2 == len(waiting(gateway))


@pytest.mark.slow
def test_what_ran_is_shown_once(gateway: GatewayProcess, tmp_path: Path) -> None:
    """What policy allows ran before the kill; its caller gets the output and the exit code."""
    dies(gateway, "exec.run", "after")
    asking = gateway.ask("--cwd", str(tmp_path), "--", "echo", "done")
    is_dead(gateway)
    gateway.start()
    out, err = asking.communicate(timeout=60)

    assert ("done\n", 0) == (out, asking.returncode), err
    assert 1 == len(gateway.json("history"))


@pytest.mark.slow
@pytest.mark.parametrize("as_json", [False, True])
def test_a_gateway_that_does_not_come_back(
    gateway: GatewayProcess, tmp_path: Path, as_json: bool
) -> None:
    """After the time that following allows, the caller is told what may have happened to it."""
    dies(gateway, "exec.run", "after")
    words = ("run", "--cwd", str(tmp_path), "-c", "echo x >> ledger")
    told = program(gateway, IMPATIENT, *words, *(["--json"] if as_json else []))
    is_dead(gateway)
    refused = gateway.cli(*words)
    gateway.start()

    assert (5, 1) == (told.returncode, refused.returncode)
    assert NOT_REACHED in refused.stderr
    if as_json:
        note, error = map(json.loads, told.stderr.splitlines())
        assert "reconnecting" in note["note"]
        assert ("Unanswered", 5) == (error["error"]["type"], error["error"]["exitCode"])
        assert IN_DOUBT in error["error"]["message"]
    else:
        assert IN_DOUBT in told.stderr
    assert 1 == len(waiting(gateway))


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("exec.approval.resolve", ("deny",)),
        ("exec.approval.resolve", ("approve", "allow-once")),
        ("exec.cancel", ("cancel",)),
    ],
)
def test_an_answer_may_have_counted(
    gateway: GatewayProcess, tmp_path: Path, method: str, words: tuple[str, ...], moment: str
) -> None:
    """The answering caller gets its own exit code; the same command again reports the state."""
    code = question(gateway, tmp_path)
    verb, *rest = words
    dies(gateway, method, moment)
    told = gateway.cli(verb, code, *rest, "--json", own_session=True)
    is_dead(gateway)
    gateway.start()
    again = gateway.cli(verb, code, *rest, own_session=True)

    error = json.loads(told.stderr)["error"]
    assert (5, "Unanswered", 5) == (told.returncode, error["type"], error["exitCode"])
    assert IN_DOUBT in error["message"]
    assert "repeat the command, which does no harm" in error["message"]
    assert (0 if moment == "before" else 3) == again.returncode, again.stderr
    assert waiting(gateway) == []
    assert 1 == len(gateway.json("history"))


@pytest.mark.slow
def test_a_client_that_forgets_says_that_nothing_was_reached(
    gateway: GatewayProcess, tmp_path: Path
) -> None:
    """The control: not knowing what it sent, it calls an effective denial "not reached"."""
    code = question(gateway, tmp_path)
    dies(gateway, "exec.approval.resolve", "after")
    told = program(gateway, FORGETFUL, "deny", code)
    is_dead(gateway)
    gateway.start()

    assert (1, True) == (told.returncode, NOT_REACHED in told.stderr), told.stderr
    assert "denied" == gateway.json("history")[0]["state"]


@pytest.mark.slow
def test_a_list_is_not_changed_a_second_time_beside_the_gateway(gateway: GatewayProcess) -> None:
    """A killed gateway that may have added an entry is no reason to write the file offline."""
    words = (sys.executable, "-m", "bot", "approvals", "allowlist", "add", "/opt/tool")
    dies(gateway, "exec.approvals.set", "after")
    told = in_terminal(*words, environ=gateway.environ())
    is_dead(gateway)
    lines = (gateway.home / "audit.jsonl").read_text().splitlines()
    offline = in_terminal(*words, environ=gateway.environ())
    gateway.start()

    assert (5, True) == (told[0], IN_DOUBT in told[1]), told
    assert 0 == offline[0], offline
    changes = [one for one in map(json.loads, lines) if one["kind"] == "approvals file"]
    assert 1 == len(changes)
    file = json.loads((gateway.home / "exec-approvals.json").read_text())
    listed = [one["pattern"] for one in file["agents"]["main"]["allowlist"]]
    assert 1 == listed.count("/opt/tool")


def test_who_leaves_early_is_told_that_it_may_be_on_record(
    gateway: GatewayProcess, tmp_path: Path
) -> None:
    """Two signals before the id is known: the request was sent, and nothing more is known."""
    assert gateway.process is not None
    gateway.process.send_signal(signal.SIGSTOP)
    asking = gateway.ask("--cwd", str(tmp_path), "-c", "echo x >> ledger")
    try:
        wait_until("its request", lambda: has_sent(asking.pid))
        for _ in range(2):
            asking.send_signal(signal.SIGINT)
            time.sleep(0.5)  # of two that arrive at once, a process gets one
            wait_until("it to hear that", lambda: asking.poll() is not None or has_sent(asking.pid))
        _, err = asking.communicate(timeout=60)
    finally:
        gateway.process.send_signal(signal.SIGCONT)

    assert -signal.SIGINT == asking.returncode
    assert "the request may be on record: see `sayso pending` and `sayso history`" in err


def has_sent(pid: int) -> bool:
    """Return whether a client has connected and polls for its answer."""
    try:
        links = [one.readlink() for one in Path(f"/proc/{pid}/fd").iterdir() if one.is_symlink()]
        waits = Path(f"/proc/{pid}/wchan").read_text()
    except OSError:  # it has just ended
        return False
    return any(str(one).startswith("socket:") for one in links) and "poll" in waits


@pytest.mark.slow
def test_what_callers_are_told_is_true(gateway: GatewayProcess, tmp_path: Path) -> None:
    """Killed at random moments: "not reached" has not run, an end has run once, nothing twice."""
    dice = random.Random(SEED)
    ledger = tmp_path / "ledger"
    tool = tmp_path / "note"
    tool.write_text(f'#!/bin/sh\necho "$1" >> {ledger}\n')
    tool.chmod(0o755)
    list_ = gateway.home / "exec-approvals.json"
    list_.write_text(
        json.dumps({"version": 1, "agents": {"main": {"allowlist": [{"pattern": str(tool)}]}}})
    )
    ledger.touch()
    told: dict[str, tuple[int, str]] = {}
    for number in range(KILLS):
        asking = gateway.ask("--cwd", str(tmp_path), "--", str(tool), f"n{number}")
        time.sleep(dice.uniform(0.05, 0.6))
        gateway.kill()
        gateway.start()
        told[f"n{number}"] = (asking.wait(60), asking.communicate()[1])

    for key, (code, said) in told.items():
        ran = ledger.read_text().split().count(key)
        if NOT_REACHED in said:
            assert (1, 0) == (code, ran), said
        elif code == 0:
            assert ran == 1, said
        else:
            assert ran <= 1, said
            assert "how it ended is unknown" in said or "denied (spawn_failed)" in said, said
    print(*((code, said) for code, said in told.values()), sep="\n")
