"""Restart the gateway between prompt, answer and run: nothing is lost, nothing runs twice."""

import asyncio
import time
from pathlib import Path

from core.model.approval import ApprovalReply
from core.model.command import ExecOverrides
from core.model.identity import Actor, SessionKey
from core.model.policy import ExecSecurity
from core.store import approvals, open_store
from core.store.sessions import overrides
from tests.support.gateway_process import ANA, BotApi, GatewayProcess
from tests.support.waiting import wait_until


def ask(gateway: GatewayProcess, cwd: Path) -> str:
    """Ask to append a line to a file, and return the id."""
    done = gateway.cli("run", "--no-wait", "--cwd", str(cwd), "-c", "echo ran >> ledger")
    time.sleep(0.5)  # a crash between the platform's yes and its commit is covered by test_outbox
    return done.stdout.strip()


def ran(cwd: Path) -> int:
    """Return how many times the command ran."""
    ledger = cwd / "ledger"
    return len(ledger.read_text().splitlines()) if ledger.exists() else 0


def test_press_while_the_gateway_is_down(
    gateway: GatewayProcess, api: BotApi, tmp_path: Path
) -> None:
    """A press made while no gateway listened counts after the restart, and the prompt is edited."""
    run_id = ask(gateway, tmp_path)
    prompt = api.prompt("ledger")
    gateway.kill()
    api.press(prompt, "Allow once")

    gateway.start()

    wait_until("the run", lambda: ran(tmp_path))
    wait_until("the edit", lambda: [m for m in api.messages() if "Allowed once" in m["text"]])
    ended = wait_until("the end", lambda: [t for t in gateway.events() if "finished" in t])
    assert 1 == ran(tmp_path)
    assert f"id={run_id}, code=0" in ended[0]


def test_what_was_set_for_a_session_ends_with_the_gateway(
    gateway: GatewayProcess, tmp_path: Path
) -> None:
    """/exec and /elevated survive neither a stop nor a crash (S0 "non-persistent")."""
    for end in (gateway.stop, gateway.kill):
        end()
        asyncio.run(_set_deny(gateway.home))
        gateway.start()
        asked = gateway.cli("run", "--no-wait", "--cwd", str(tmp_path), "-c", "echo a >> ledger")

        assert 4 == asked.returncode, f"it is asked as configured: {asked.stderr}"


async def _set_deny(home: Path) -> None:
    """Discard what the last gateway was given for the session."""
    store = await open_store(f"sqlite:///{home / 'state.db'}")
    deny = ExecOverrides(security=ExecSecurity.DENY)
    await store.write(overrides.put, SessionKey("main"), deny, Actor("memory", "ana", "Ana"))
    await store.close()


def test_crash_between_answer_and_run(gateway: GatewayProcess, api: BotApi, tmp_path: Path) -> None:
    """An answer that was committed just before a crash is carried out after it, once."""
    run_id = ask(gateway, tmp_path)
    api.prompt("ledger")
    gateway.kill()
    asyncio.run(_commit_answer(gateway.home, run_id))
    assert 0 == ran(tmp_path)

    gateway.start()

    wait_until("the run", lambda: ran(tmp_path))
    gateway.kill()
    gateway.start()
    wait_until("the edit", lambda: [m for m in api.messages() if "Allowed once" in m["text"]])
    assert 1 == ran(tmp_path)


async def _commit_answer(home: Path, run_id: str) -> None:
    """Do what the gateway does up to its commit, and no more."""
    store = await open_store(f"sqlite:///{home / 'state.db'}")
    (found,) = await store.read(approvals.find, run_id)
    actor = Actor("telegram", ANA, "Ana")
    await store.write(
        approvals.answer, approvals.Ballot(found.id, ApprovalReply.ALLOW_ONCE, actor, None)
    )
    await store.close()


def test_question_outlives_the_gateway(
    gateway: GatewayProcess, api: BotApi, tmp_path: Path
) -> None:
    """A waiting question is still there after an orderly stop, with only one prompt."""
    run_id = ask(gateway, tmp_path)
    prompt = api.prompt("ledger")
    assert 0 == gateway.stop()

    gateway.start()

    assert [run_id] == [row["id"] for row in gateway.json("pending")]
    api.press(prompt, "Deny")
    wait_until("the edit", lambda: [m for m in api.messages() if "Denied" in m["text"]])
    assert 1 == len([m for m in api.messages() if "ledger" in m["text"]])
    assert 0 == ran(tmp_path)


def test_command_that_runs_when_the_gateway_dies_is_unknown(
    gateway: GatewayProcess, api: BotApi, tmp_path: Path
) -> None:
    """An interrupted run is ended, reported as `unknown` once, and never run again."""
    asking = gateway.ask("--cwd", str(tmp_path), "-c", "echo ran >> ledger; sleep 30")
    api.press(api.prompt("ledger"), "Allow once")
    wait_until("the start", lambda: ran(tmp_path))
    gateway.kill()

    gateway.start()
    _, told = asking.communicate(timeout=20)
    assert 1 == asking.returncode
    assert "how it ended is unknown" in told
    gateway.kill()
    gateway.start()

    unknown = [text for text in gateway.events() if "code=unknown" in text]
    assert 1 == len(unknown)
    assert 1 == ran(tmp_path)
