"""Run at a companion what a page's client orders correctly, once, and as it was bound."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.companion.work import CompanionWork, companion_work
from core.approvals.file.file import ApprovalsFile
from core.companion import frames
from core.companion.frames import RunOrder
from core.companion.server import CompanionServer, serve
from core.model.decision import AllowedBy
from core.model.identity import ApprovalId
from core.planning.digest import bind
from tests.core.companion.desks import RecordingDesk
from tests.support.page_client import PageClient, now_ms, request, sign
from tests.support.runs import new_run, planned
from tests.support.runs import request as exec_request

TOKEN = "token-of-this-test"


@asynccontextmanager
async def working(
    home: Path, is_run: Callable[[int], bool] = lambda _pid: False, **defaults: str
) -> AsyncIterator[tuple[CompanionServer, CompanionWork]]:
    """Run a companion that executes."""
    home.mkdir(mode=0o700, exist_ok=True)
    path = home / "exec-approvals.json"
    path.write_text(json.dumps({"version": 1, "defaults": defaults}))
    path.chmod(0o600)
    async with companion_work(home, ApprovalsFile(path), is_run) as work:
        server = await serve(home / "s.sock", TOKEN, RecordingDesk(), work)
        try:
            yield server, work
        finally:
            await server.close()


def order_of(*argv: str, run_id: str = "", **changes: Any) -> dict[str, Any]:
    """Return a valid order to run a vector, with something changed in its plan."""
    plan = bind(replace(planned(exec_request(argv=argv)), **changes))
    order = RunOrder(id=run_id or new_run(), digest=plan.digest, by=AllowedBy.POLICY, plan=plan)
    found: dict[str, Any] = json.loads(frames.text_of(order))
    return found


def _ordered(path: Path, body: dict[str, Any], token: str = TOKEN) -> list[dict[str, Any] | None]:
    """Order a run as the page says; return the two answering frames."""
    client = PageClient(path, token, 15.0)
    try:
        nonce = client.challenge()
        client.send(request(token, nonce, now_ms(), body))
        first = client.read()
        if first is None or first["type"] != "taken":
            return [first]
        assert first["hmac"] == sign(token, "taken", nonce, body["id"], body["digest"])
        return [first, client.read()]
    finally:
        client.close()


async def ordered(server: CompanionServer, body: dict[str, Any]) -> list[Any]:
    """Order a run from another thread."""
    return await asyncio.to_thread(_ordered, server.path, body)


async def test_a_client_of_the_page_runs_a_command(tmp_path: Path) -> None:
    """Taken, run, reported; the disk and the journal have it."""
    home = tmp_path / "home"
    async with working(home) as (server, _):
        body = order_of("/bin/sh", "-c", "echo out; exit 3")
        taken, result = await ordered(server, body)

    found = json.loads(result["resultJson"])
    assert (taken["type"], found["kind"], found["result"]["exitCode"]) == ("taken", "ran", 3)
    assert found["result"]["output"]["text"] == "out\n"
    assert (home / "companion-runs" / f"{body['id']}.noted.json").exists()
    assert (home / "companion-audit.jsonl").read_text().count(body["id"]) == 2


@pytest.mark.parametrize("printed", ["a\\0b", "\\377", "\\033[1m"])
async def test_whatever_a_command_prints_is_reported(tmp_path: Path, printed: str) -> None:
    """NUL, invalid UTF-8, escapes: its end is known, and read by the gateway's reader."""
    async with working(tmp_path / "home") as (server, _):
        _, result = await ordered(server, order_of("/usr/bin/printf", printed))
    outcome = frames.read_outcome(result["resultJson"])
    assert isinstance(outcome, frames.Ran)
    assert (outcome.result.exit_code, outcome.result.output.total_bytes > 0) == (0, True)


async def test_a_plan_for_another_user_is_refused_with_a_reason(tmp_path: Path) -> None:
    """The companion is one user's context; the same plan without it runs. Nothing is recorded."""
    home, made = tmp_path / "home", tmp_path / "made"
    async with working(home) as (server, _):
        for user in ("nobody", "root", "no-such-user"):
            body = order_of("/bin/mkdir", str(made), run_as=user)
            (refused,) = await ordered(server, body)
            assert (refused["type"], "bound to another Unix user" in refused["words"]) == (
                "refused",
                True,
            )
            assert not list((home / "companion-runs").glob(f"{body['id']}*"))
        assert not made.exists()
        assert len(await ordered(server, order_of("/bin/mkdir", str(made)))) == 2
    assert made.is_dir()


@pytest.mark.parametrize("restart", [False, True])
async def test_an_id_runs_once(tmp_path: Path, *, restart: bool) -> None:
    """Ordered again it is refused, also by a companion started since; another runs."""
    home, made = tmp_path / "home", tmp_path / "made"
    body = order_of("/bin/mkdir", str(made))
    async with working(home) as (server, _):
        assert len(await ordered(server, body)) == 2
        made.rmdir()
        if not restart:
            (again,) = await ordered(server, body)
    if restart:
        async with working(home) as (server, _):
            (again,) = await ordered(server, body)
    assert again["reason"] == "no_runs"
    assert not made.exists()
    async with working(home) as (server, _):
        assert len(await ordered(server, order_of("/bin/mkdir", str(made)))) == 2
    assert made.exists()


async def test_a_plan_that_is_not_its_digest_is_refused(tmp_path: Path) -> None:
    """Whatever was replaced in it: the text, the vector, the environment."""
    made = tmp_path / "made"
    async with working(tmp_path / "home") as (server, _):
        good = order_of("/bin/mkdir", str(made))
        for key, value in (("text", "ls"), ("env", [["LD_PRELOAD", "/e.so"]]), ("agent", "root")):
            bad = {**good, "plan": {**good["plan"], key: value}}
            (refused,) = await ordered(server, bad)
            assert refused["reason"] == "no_runs", key
        (refused,) = await ordered(server, {**good, "digest": "0" * 64})
        assert refused["reason"] == "no_runs"
        assert not made.exists()
        assert len(await ordered(server, good)) == 2
    assert made.exists()


async def test_a_run_of_sayso_gives_no_orders(tmp_path: Path) -> None:
    """The kernel says who asks; the token alone is not enough."""
    made = tmp_path / "made"
    async with working(tmp_path / "home", lambda _pid: True) as (server, _):
        (refused,) = await ordered(server, order_of("/bin/mkdir", str(made)))
    assert (refused["reason"], made.exists()) == ("no_runs", False)
    assert "run of Sayso" in refused["words"]


async def test_what_the_file_denies_and_what_changed_do_not_run(tmp_path: Path) -> None:
    """The companion judges and verifies again: taken, and then not run, with the reason."""
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    drifted = order_of(str(script))
    script.write_text(f"#!/bin/sh\ntouch {tmp_path}/made\n")
    async with working(tmp_path / "home") as (server, _):
        _, changed = await ordered(server, drifted)
    async with working(tmp_path / "home", security="deny") as (server, _):
        _, denied = await ordered(server, order_of("/bin/mkdir", str(tmp_path / "made")))
    reasons = [json.loads(one["resultJson"])["reason"] for one in (changed, denied)]
    assert reasons == ["plan_drift", "security_deny"]
    assert not (tmp_path / "made").exists()


async def test_a_client_that_goes_away_ends_its_command(tmp_path: Path) -> None:
    """No one is left to be told; the ending is on disk."""
    home, mark = tmp_path / "home", tmp_path / "mark"
    async with working(home) as (server, work):
        body = order_of("/bin/sh", "-c", f"echo begun >> {mark}; sleep 30; echo ended >> {mark}")
        client = PageClient(server.path, TOKEN, 15.0)
        await asyncio.to_thread(client.ask, body)
        while not (mark.exists() and mark.read_text()):  # the shell opens it before it writes
            await asyncio.sleep(0.02)
        client.close()
        async with asyncio.timeout(15):
            while work.ledger.ending(ApprovalId(body["id"])) is None:
                await asyncio.sleep(0.02)
    assert mark.read_text() == "begun\n"
