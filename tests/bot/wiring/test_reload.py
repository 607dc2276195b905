"""Reload a configuration under load: every request is judged by one of the two, never both."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bot.app import Gateway, gateway
from bot.settings import load
from core.audit.journal import AuditJournal
from core.gate.effective_policy import Rulebook
from core.model.command import ExecRequest
from core.model.identity import Intake, Requester, SessionKey
from core.model.result import Denied, Finished
from tests.support.gateway_process import write_config

_FORBIDS = {
    "security": "full",
    "rules": [{"match": {"glob": "/usr/bin/touch"}, "decide": "deny", "reason": "no"}],
}
"""Everything may run except this; and nothing may that is not listed. Half of each allows it."""
_LISTS = {"security": "allowlist", "rules": []}


@dataclass
class Running:
    """A gateway in this process, and its messages about its configuration."""

    gateway: Gateway
    home: Path

    async def reload(self, **exec_: Any) -> bool:
        """Write what ``tools.exec`` is, without asking anyone, and apply it."""
        write(self.home, **exec_)
        return await self.gateway.reloading.reload()

    async def touch(self) -> str:
        """Ask to make a file, and return how that ended."""
        wish = ExecRequest(
            requester=Requester(Intake.SOCKET, "uid:0", (1, 2)),
            session=SessionKey("main"),
            cwd=str(self.home),
            argv=("touch", "made"),
        )
        match await self.gateway.gate.submit(wish):
            case Denied(reason=reason):
                return reason.value
            case Finished():
                return "ran"
            case other:
                return type(other).__name__

    async def hammered(self, reloads: int) -> Counter[str]:
        """Ask constantly while the configuration changes; count how the requests ended."""
        ended: Counter[str] = Counter()
        over = asyncio.Event()

        async def ask() -> None:
            while not over.is_set():
                ended[await self.touch()] += 1

        asking = [asyncio.create_task(ask()) for _ in range(8)]
        for number in range(reloads):
            assert await self.reload(**(_FORBIDS if number % 2 else _LISTS))
            # More than were in flight: some are asked and judged after it.
            enough = ended.total() + 2 * len(asking)
            async with asyncio.timeout(30):
                while ended.total() < enough:
                    await asyncio.sleep(0.01)
        over.set()
        await asyncio.gather(*asking)
        return ended


def write(home: Path, **exec_: Any) -> None:
    """Write what ``tools.exec`` is, without asking anyone."""
    path = home / "config.json5"
    tools = {"exec": {"host": "gateway", "ask": "off", **exec_}}
    path.write_text(json.dumps(json.loads(path.read_text()) | {"tools": tools}))


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Running]:
    """Run a gateway that forbids a program."""
    home = tmp_path / "home"
    write_config(home, None)
    write(home, **_FORBIDS)
    async with gateway(load(home, environ={}), environ={}) as found:
        yield Running(found, home)


async def test_no_request_is_judged_by_half_of_each(running: Running) -> None:
    """Both configurations deny, each for its own reason; no request finds a gap between them."""
    ended = await running.hammered(12)

    assert ended.keys() == {"rule_denied", "allowlist_miss"}, ended
    assert not (running.home / "made").exists()


async def test_two_steps_would_leave_a_gap(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: rules first and policy a moment later, and something runs."""

    def slowly(self: Rulebook, other: Rulebook) -> None:
        self.compiled = other.compiled
        asyncio.get_running_loop().call_later(3, setattr, self, "configured", other.configured)

    monkeypatch.setattr(Rulebook, "adopt", slowly)

    assert "ran" in await running.hammered(4)


async def test_a_change_that_cannot_be_written_down_is_not_taken_over(
    running: Running, caplog: pytest.LogCaptureFixture
) -> None:
    """A policy unknown to the journal is never in effect."""
    gate = running.gateway.gate
    before = gate.rulebook.version, gate.broker, gate.rulebook.compiled
    assert isinstance(gate.journal, AuditJournal)
    gate.journal.close()

    assert not await running.reload(**_LISTS)

    assert (gate.rulebook.version, gate.broker, gate.rulebook.compiled) == before
    assert "the old configuration stays in effect" in caplog.text


async def test_a_rule_that_fails_its_example_leaves_the_old_configuration(
    running: Running, caplog: pytest.LogCaptureFixture
) -> None:
    """What no start would accept, no reload accepts; one line names it."""
    rule = {**_FORBIDS["rules"][0], "examples": {"match": [["rm", "x"]]}}  # type: ignore[dict-item]

    assert not await running.reload(security="full", rules=[rule])

    (said,) = [one.getMessage() for one in caplog.records if "reloaded" in one.getMessage()]
    assert "tools.exec.rules[0]" in said
    assert await running.touch() == "rule_denied"


@pytest.mark.parametrize("content", [None, "", "// all is a comment\n", "{}"])
async def test_an_empty_or_missing_file_is_not_the_defaults(
    running: Running, caplog: pytest.LogCaptureFixture, content: str | None
) -> None:
    """An editor that is about to write must not lift the rules for a moment."""
    path = running.home / "config.json5"
    path.unlink()
    if content is not None:
        path.write_text(content)
        path.chmod(0o600)

    assert not await running.gateway.reloading.reload()

    assert "config.json5: is empty or missing" in caplog.text
    assert await running.touch() == "rule_denied"


async def test_a_home_that_others_may_write_to_is_not_read(
    running: Running, caplog: pytest.LogCaptureFixture
) -> None:
    """A reload is as careful as a start."""
    running.home.chmod(0o777)
    try:
        assert not await running.reload(**_LISTS)
    finally:
        running.home.chmod(0o700)

    assert "can be written by others" in caplog.text
    assert await running.touch() == "rule_denied"
