"""Walk the main job end to end: real gateway, real python-telegram-bot, real children."""

import os
import pwd
from pathlib import Path

import pytest

from tests.support.gateway_process import ANA, BOB, BotApi, GatewayProcess, write_config
from tests.support.waiting import wait_until


def finished(gateway: GatewayProcess) -> list[str]:
    """Return the session's events once a run has finished or was denied."""
    found: list[str] = wait_until(
        "an end",
        lambda: [t for t in gateway.events() if "finished" in t or "denied" in t],
    )
    return found


def test_listed_command_runs_without_a_prompt(gateway: GatewayProcess, api: BotApi) -> None:
    """A listed command runs at once, its code and output are returned, and no one is asked."""
    done = gateway.cli("run", "-c", "echo one && echo two")

    assert (0, "one\ntwo\n") == (done.returncode, done.stdout)
    assert [] == api.messages()
    assert ["Exec started", "Exec finished"] == [text[:13].strip() for text in gateway.events()]


def test_exit_code_is_passed_through(gateway: GatewayProcess, api: BotApi) -> None:
    """A command's own exit code is the exit code of `sayso run`."""
    asking = gateway.ask("-c", "false")
    api.press(api.prompt("false"), "Allow once")
    asking.communicate(timeout=20)

    assert 1 == asking.returncode


def test_the_last_status_is_printed(gateway: GatewayProcess, api: BotApi) -> None:
    """What agents append to a command is not a question of its own: only the command is asked."""
    plain = gateway.cli("run", "-c", 'true; echo "exit: $?"')
    asking = gateway.ask("-c", 'false; echo "exit: $?"')
    prompt = api.prompt('false; echo "exit: $?"')
    api.press(prompt, "Allow once")
    printed, _ = asking.communicate(timeout=20)

    assert (0, "exit: 0\n") == (plain.returncode, plain.stdout)
    assert "A shell will run" not in prompt["text"]
    assert (0, "exit: 1\n") == (asking.returncode, printed)


def test_button_allows_once(gateway: GatewayProcess, api: BotApi, tmp_path: Path) -> None:
    """A press runs exactly what was shown; the message says who decided; events follow."""
    asking = gateway.ask("--cwd", str(tmp_path), "-c", "touch made-by-agent")
    prompt = api.prompt("touch made-by-agent")
    assert not (tmp_path / "made-by-agent").exists()

    api.press(prompt, "Allow once")
    asking.communicate(timeout=20)

    assert 0 == asking.returncode
    assert (tmp_path / "made-by-agent").exists()
    edited = wait_until(
        "the edit",
        lambda: [
            m
            for m in api.messages()
            if m["message_id"] == prompt["message_id"] and not m.get("reply_markup")
        ],
    )
    assert "Allowed once" in edited[0]["text"]
    assert "Exec started" in gateway.events()[0]
    assert "code=0" in gateway.events()[1]
    again = gateway.cli("run", "--no-wait", "--cwd", str(tmp_path), "-c", "touch made-by-agent")
    assert 4 == again.returncode


def test_typed_approval_and_always(gateway: GatewayProcess, api: BotApi, tmp_path: Path) -> None:
    """`/approve CODE allow-always` runs it, stores what was promised, and asks no more."""
    asking = gateway.ask("--cwd", str(tmp_path), "-c", "seq 3")
    api.prompt("seq 3")
    code = gateway.json("pending")[0]["code"]
    api.say(f"/approve {code} allow-always")
    asking.communicate(timeout=20)
    assert 0 == asking.returncode

    done = gateway.cli("run", "--cwd", str(tmp_path), "-c", "seq 2")

    assert (0, "1\n2\n") == (done.returncode, done.stdout)


def test_denial_comes_back_with_its_reason(gateway: GatewayProcess, api: BotApi) -> None:
    """A press on Deny ends it: nothing runs, exit 3, the agent is told who said no."""
    asking = gateway.ask("-c", "touch /nowhere")
    api.press(api.prompt("touch /nowhere"), "Deny")
    _, told = asking.communicate(timeout=20)

    assert 3 == asking.returncode
    assert "approver_denied" in told
    assert "approver_denied" in finished(gateway)[0]


def test_stranger_changes_nothing(gateway: GatewayProcess, api: BotApi) -> None:
    """A person who is not an approver presses and types without effect."""
    asking = gateway.ask("-c", "touch /nowhere")
    prompt = api.prompt("touch /nowhere")
    code = gateway.json("pending")[0]["code"]

    api.press(prompt, "Allow once", user=BOB)
    api.say(f"/approve {code} allow-once", user=BOB)
    wait_until("the refusal", lambda: [m for m in api.messages() if "approvers" in m["text"]])

    assert code == gateway.json("pending")[0]["code"]
    api.press(prompt, "Deny")
    asking.communicate(timeout=20)
    assert 3 == asking.returncode


def test_silence_is_denial(api: BotApi, tmp_path: Path) -> None:
    """No answer: denied at the deadline; the message and the reply to a late press say so."""
    home = tmp_path / "home"
    write_config(home, api, timeout=3)
    gateway = GatewayProcess(home)
    gateway.start()
    try:
        asking = gateway.ask("-c", "touch /nowhere")
        prompt = api.prompt("touch /nowhere")
        _, told = asking.communicate(timeout=20)
        assert 3 == asking.returncode
        assert "approval_timeout" in told
        wait_until("the edit", lambda: [m for m in api.messages() if "xpired" in m["text"]])
        assert "expired" in api.told(api.press_old(prompt, "Allow once"))
    finally:
        gateway.stop()


def test_terminal_answers_too(gateway: GatewayProcess, tmp_path: Path) -> None:
    """`sayso approve` decides from another terminal, and never from the one that asked."""
    asked = gateway.cli("run", "--no-wait", "--cwd", str(tmp_path), "-c", "touch made")
    code = gateway.json("pending")[0]["code"]
    assert 4 == asked.returncode

    same = gateway.cli("approve", code, "allow-once")
    other = gateway.cli("approve", code, "allow-once", own_session=True)

    assert 3 == same.returncode
    assert "This was asked from this terminal session" in same.stderr
    assert 0 == other.returncode
    wait_until("the file", (tmp_path / "made").exists)
    late = gateway.cli("approve", code, "deny", own_session=True)
    assert f"allowed by {pwd.getpwuid(os.getuid()).pw_name} (terminal)" in late.stderr


def test_retries_in_sessions_of_their_own_wake_people_once(
    gateway: GatewayProcess, api: BotApi, tmp_path: Path
) -> None:
    """Three calls, each in a new kernel session, are one prompt; an allow-once lets one run."""
    again = ("run", "--no-wait", "--cwd", str(tmp_path), "-c", "touch made")
    asked = [gateway.cli(*again, own_session=True).returncode for _ in range(3)]
    prompt = api.prompt("touch made")
    waiting, shown = gateway.json("pending"), api.messages()
    api.press(prompt, "Allow once")
    wait_until("the run", (tmp_path / "made").exists)

    assert ([4, 4, 4], 3) == (asked, len(waiting))
    assert [prompt["message_id"]] == [one["message_id"] for one in shown]
    assert 2 == len(gateway.json("pending"))


def test_the_terminal_takes_a_limit_as_chats_do(gateway: GatewayProcess, tmp_path: Path) -> None:
    """`sayso approve ID 2x` allows always, for two more runs; an odd word decides nothing."""
    gateway.cli("run", "--no-wait", "--cwd", str(tmp_path), "-c", "seq 3")
    code = gateway.json("pending")[0]["code"]

    odd = gateway.cli("approve", code, "soon", own_session=True)
    deny = gateway.cli("approve", code, "deny", "2x", own_session=True)
    taken = gateway.cli("approve", code, "2x", own_session=True)

    assert [2, 2, 0] == [one.returncode for one in (odd, deny, taken)]
    assert "limit of allow-always (30m" in odd.stderr
    assert "goes with allow-always only" in deny.stderr
    (grant,) = gateway.json("grants", "list")
    assert 2 == grant["usesLeft"]
    again = gateway.cli("run", "--cwd", str(tmp_path), "-c", "seq 3")
    assert (0, "1\n2\n3\n") == (again.returncode, again.stdout)


@pytest.mark.parametrize("ref", ["ZZZZZZ", "nonsense"])
def test_unknown_id_is_told(gateway: GatewayProcess, ref: str) -> None:
    """An id that no approval has gets its own sentence."""
    done = gateway.cli("approve", ref, "deny", own_session=True)

    assert (2, "") == (done.returncode, done.stdout)
    assert "No approval has the id" in done.stderr
    assert "/pending" not in done.stderr


def test_history_tells_what_was_asked_and_how_it_ended(
    gateway: GatewayProcess, api: BotApi, tmp_path: Path
) -> None:
    """Allowed, denied and asked commands are listed, with who decided; for people and machines."""
    gateway.cli("run", "-c", "echo listed")
    asking = gateway.ask("--cwd", str(tmp_path), "-c", "touch made")
    api.press(api.prompt("touch made"), "Deny")
    asking.communicate(timeout=20)
    gateway.cli("run", "-c", "no-such-program")

    rows = gateway.json("history")
    text = gateway.cli("history").stdout

    assert ["no-such-program", "touch made", "echo listed"] == [row["command"] for row in rows]
    assert [None, f"telegram:{ANA}", None] == [row["by"] for row in rows]
    assert ["denied", "denied", "done"] == [row["state"] for row in rows]
    assert "touch made" in text
    assert f"telegram:{ANA}" in text
