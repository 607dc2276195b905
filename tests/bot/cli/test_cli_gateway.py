"""Test what people type every day, with a real gateway and after its end."""

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bot.cli import main
from tests.support.gateway_process import GatewayProcess, write_config
from tests.support.waiting import wait_until

ID = "a" * 64


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    """Run a gateway with remote exec allowed by a flag; some requests were made and answered."""
    home = tmp_path_factory.mktemp("cli") / "home"
    write_config(home, None, timeout=600)
    config = json.loads((home / "config.json5").read_text())
    config["remote"] = {"listen": [f"unix:{home}/remote.sock"]}
    (home / "config.json5").write_text(json.dumps(config))
    acl = home / "acl.toml"
    acl.write_text(
        f'[exec]\nenabled = true\n[[exec.allow]]\nagent_id = "{ID}"\nmachine_id = "{ID}"\n'
        '[[exec.allow.commands]]\nargv = ["uptime"]\n'
    )
    acl.chmod(0o600)
    running = GatewayProcess(home, options=("--exec-acl", str(acl)))
    running.start()
    try:
        running.cli("run", "--", "/usr/bin/echo", "listed")
        for line in ("git push origin main", "uname -a", "cat $(ls) | sh"):
            running.cli("run", "--no-wait", "--cwd", "/usr", "-c", line, own_session=True)
        yield running
    finally:
        running.stop()


Sayso = Callable[..., tuple[int, str, str]]


@pytest.fixture
def sayso(
    gateway: GatewayProcess, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Sayso:
    """Return a function that runs a command here; it returns exit code and both streams."""
    monkeypatch.setenv("SAYSO_HOME", str(gateway.home))

    def run(*words: str) -> tuple[int, str, str]:
        code = main([*words])
        found = capsys.readouterr()
        return code, found.out, found.err

    return run


def pending(sayso: Sayso, text: str) -> dict[str, Any]:
    """Return the question about a command."""
    rows = json.loads(sayso("pending", "--json")[1])
    (row,) = (row for row in rows if text in row["command"])
    return dict(row)


@pytest.mark.parametrize(
    "words",
    [
        ("approve", "ZZZZZZ", "allow-once"),
        ("deny", "ZZZZZZ"),
        ("show", "ZZZZZZ"),
        ("cancel", "ZZZZZZ"),
        ("grants", "revoke", "ZZZZZZ"),
        ("task", "end", "nosuch"),
        ("token", "revoke", "nosuch"),
        ("people", "revoke", "nosuch"),
        ("approvals", "allowlist", "remove", "/usr/bin/nosuch"),
        ("exec", "nosuch", "--", "ls"),
        ("exec", ID, "--cancel", "8f14e45fceea167a5a36dedd4bea2543"),
        ("exec", "contacts", "remove", "nosuch"),
    ],
)
def test_an_unknown_id_is_one_exit_code(sayso: Sayso, words: tuple[str, ...]) -> None:
    """On standard error, in JSON too; a command line names no chat command."""
    code, out, error = sayso(*words)
    as_json = sayso(*words, "--json") if "--" not in words else None

    assert (code, out) == (2, "")
    assert error.startswith("sayso: ")
    assert "/pending" not in error
    if as_json is not None:
        found = json.loads(as_json[2])["error"]
        assert (as_json[0], as_json[1], found["type"], found["exitCode"]) == (2, "", "NotFound", 2)


def test_events_of_an_unknown_session_are_a_mistake(sayso: Sayso) -> None:
    """With the nearest name; the control: a known session without events is just quiet."""
    known = json.loads(sayso("history", "--json")[1])[0]["session"]
    code, out, error = sayso("events", "drain", f"{known}x")

    assert (code, out) == (2, "")
    assert error == (
        f"sayso: No request has named the session '{known}x'; did you mean '{known}'?\n"
    )
    assert sayso("events", "drain", known)[0] == 0
    assert "`sayso history --json`" in sayso("events", "drain", "quite-another")[2]
    assert json.loads(sayso("events", "drain", "nope", "--json")[2])["error"]["type"] == "NotFound"


def test_a_refusal_is_no_result(sayso: Sayso) -> None:
    """A program may not add people: said on standard error, or as the answer in JSON."""
    code, out, error = sayso("people", "add", "ana")
    json_code, json_out, json_error = sayso("people", "add", "ana", "--json")

    assert (code, out) == (3, "")
    assert "terminal" in error
    assert (json_code, json_error) == (3, "")
    assert json.loads(json_out)["done"] is False


@pytest.mark.parametrize("command", ["people", "grants", "token"])
def test_a_group_alone_lists(sayso: Sayso, command: str) -> None:
    """As with `list`, in words and in JSON."""
    assert sayso(command) == sayso(command, "list")
    assert sayso(command, "--json") == sayso(command, "list", "--json")


def test_pending_names_folder_program_and_reason(sayso: Sayso) -> None:
    """Below each command; a warning is next to it, never inside."""
    _, out, _ = sayso("pending")
    row = pending(sayso, "cat $(ls)")

    git = str(Path("/usr/bin/git").resolve())
    assert f"    git push origin main\n      in       /usr\n      program  {git}\n" in out
    assert "why      " in out
    assert "warning: A shell will run this text as is" in out
    assert row["command"] == "cat $(ls) | sh"
    assert row["warning"].startswith("A shell will run this text as is")
    assert pending(sayso, "git push")["warning"] is None


def test_show_has_it_all(sayso: Sayso) -> None:
    """Of a question by its code; of policy's own decision by the start of its id."""
    row = pending(sayso, "git push")
    _, out, _ = sayso("show", row["code"].lower())
    _, text, _ = sayso("show", row["id"], "--json")
    listed = next(one for one in history(sayso) if one["command"].startswith("/usr/bin/echo"))
    _, alone, _ = sayso("show", listed["code"])

    for words in (
        "git push origin main",
        "/usr",
        row["why"],
        row["digest"],
        row["id"],
        "Answer: sayso approve ",
    ):
        assert words in out
    for shown in (out, sayso("pending")[1], sayso("status")[1]):
        assert re.search(r" \d+:\d\d left", shown)
    assert json.loads(text)["approval"] == row
    assert "by policy alone; nobody was asked" in alone
    assert f"{listed['code']}  finished after" in alone


def history(sayso: Sayso, *words: str) -> list[dict[str, Any]]:
    """Return the history as JSON has it."""
    code, out, error = sayso("history", "--json", *words)
    assert code == 0, error
    found: list[dict[str, Any]] = json.loads(out)
    return found


def test_history_is_searched(sayso: Sayso) -> None:
    """By agent, state, time and text in any case; several narrow together."""
    every = [row["command"] for row in history(sayso)]

    assert len(every) == 4
    assert [row["command"] for row in history(sayso, "--grep", "GIT PUSH")] == [
        "git push origin main"
    ]
    assert [row["state"] for row in history(sayso, "--state", "finished")] == ["done"]
    assert len(history(sayso, "--state", "pending", "--limit", "2")) == 2
    assert history(sayso, "--agent", "nosuch") == []
    assert len(history(sayso, "--since", "1h")) == 4
    assert history(sayso, "--state", "pending", "--grep", "echo") == []


def test_deny_is_an_answer(gateway: GatewayProcess, sayso: Sayso) -> None:
    """Like `approve ID deny`; history and show then say by whom."""
    code = pending(sayso, "uname")["code"]
    done = gateway.cli("deny", code, "--note", "not today", own_session=True)
    shown = sayso("show", code)[1]

    assert (done.returncode, done.stdout, done.stderr) == (0, f"Denied: {code}.\n", "")
    assert f"denied by terminal:uid:{os.getuid()}" in shown
    assert "not today" in shown
    assert "; denied by terminal:uid:" in sayso("history", "--grep", "uname")[1]
    again = gateway.cli("deny", code, own_session=True)
    assert (again.returncode, again.stdout) == (3, "")
    assert "was denied by" in again.stderr


def test_once_and_always_are_in_the_history(gateway: GatewayProcess, sayso: Sayso) -> None:
    """How far an allow goes, in words and as fields."""
    for line, decision, words in (
        ("whoami", "allow-once", "; allowed once by terminal:"),
        ("id -u", "allow-always", "; allowed always by terminal:"),
        ("nproc", "30m", "; allowed for 30 minutes by terminal:"),
    ):
        gateway.cli("run", "--no-wait", "-c", line)
        code = pending(sayso, line)["code"]
        assert gateway.cli("approve", code, decision, own_session=True).returncode == 0
        text = sayso("history", "--grep", line)[1]
        assert words in text
    assert {row["decision"] for row in history(sayso, "--state", "finished")} == {
        None,
        "allow-once",
        "allow-always",
    }


def test_status_is_one_screen(gateway: GatewayProcess, sayso: Sayso) -> None:
    """The gateway, channels, what waits, what runs, the lockdown and the last proof."""
    wait_until("a proof", lambda: "held" in sayso("status")[1])
    code, out, _ = sayso("status")
    found = json.loads(sayso("status", "--json")[1])

    assert gateway.process is not None
    assert code == 0
    assert len(out.splitlines()) < 24
    assert re.search(rf"^gateway     running, pid {gateway.process.pid}, ", out, re.MULTILINE)
    for words in (
        "channels    no chats; answer in a terminal",
        "git push origin main",
        "lockdown    off",
        "held, ",
    ):
        assert words in out
    code = found["waiting"][0]["code"]
    assert f"Answer: sayso approve {code} allow-once, or: sayso deny {code}" in out
    assert found["running"] is True
    assert "\x1b" not in out


def test_run_says_whom_it_waits_for(gateway: GatewayProcess, sayso: Sayso) -> None:
    """After a second, once, on standard error; not before, not in JSON."""
    waiting = [gateway.ask("-c", "groups", *more) for more in ((), ("--json",))]
    try:
        said = waiting[0].stderr.readline() if waiting[0].stderr else ""
        codes = [row["code"] for row in json.loads(sayso("pending", "--json")[1])]
    finally:
        for process in waiting:
            process.terminate()
        errors = [process.communicate(timeout=20)[1] for process in waiting]

    words = r"sayso: waiting for a person to answer (\w{6}) \((?:9|10):\d\d left\); answer in .*\n"
    found = re.fullmatch(words, said)
    assert found is not None, said
    assert found[1] in codes
    assert "waiting for a person" not in "".join(errors)


def test_doctor_and_serve_say_who_can_answer(gateway: GatewayProcess, sayso: Sayso) -> None:
    """In the same words; the access list of the flag is not a missing list."""
    _, out, _ = sayso("doctor")
    who = f"terminal (uid:{os.getuid()})"
    acl = f"{gateway.home}/acl.toml"

    none = "none (answer in a terminal: `sayso approve`)"
    assert f"channels: {none}; who can answer: {who}\n" in gateway.log.read_text()
    assert f"approvers: can answer: {who}\n" in out
    assert "remote exec: the running gateway listens at unix:" in out
    assert "1 pair, 1 command;" in out
    assert "remote exec: listens at unix:" in sayso("doctor", "--exec-acl", acl)[1]


def test_after_the_end_of_the_gateway(gateway: GatewayProcess, sayso: Sayso) -> None:
    """History and show read the store; status says that nothing runs; the rest fails."""
    before = [history(sayso, *words) for words in ((), ("--grep", "git"), ("--state", "pending"))]
    row = pending(sayso, "git push")
    gateway.stop()
    code, out, error = sayso("history", "--limit", "2")
    after = [history(sayso, *words) for words in ((), ("--grep", "git"), ("--state", "pending"))]
    marked = [[row.pop("offline") for row in rows] for rows in after]
    quiet = sayso("history", "--json")[2]
    shown = json.loads(sayso("show", row["code"], "--json")[1])
    status = sayso("status")

    assert code == 0
    assert out.count("\n    ") == 2
    assert error == "note: no gateway is running; this is what its store holds\n"
    assert after == before
    assert all(all(rows) for rows in marked)
    assert quiet == ""
    assert shown["offline"] is True
    assert shown["approval"]["digest"] == row["digest"]
    assert status[0] == 1
    assert "gateway   not running" in status[1]
    assert sayso("pending")[0] == 1
    assert sayso("show", "ZZZZZZ")[0] == 2


def test_a_home_without_a_store_has_no_history(
    sayso: Sayso, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The control: nothing is invented where there never was a gateway."""
    monkeypatch.setenv("SAYSO_HOME", str(tmp_path))
    code, out, error = sayso("history")

    assert (code, out) == (1, "")
    assert "Start one with `sayso serve`" in error
