"""Compute the weekly cost of prompts: on time, made up for, once, and blocking nothing."""

import asyncio
import json
import logging
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from bot.app import Gateway, gateway
from bot.jobs.scheduler import Clock
from bot.jobs.week_time import WeekTime
from bot.jobs.weekly_report import NAME, WeeklyReport, every_week
from bot.policy_tools.weekly_suggest import AnalysisEnded, Patience, week_of
from bot.settings import Settings, load
from channels.memory import MemoryChannel
from core.approvals.answer import Answer
from core.errors import SaysoError
from core.model.approval import ApprovalReply
from core.model.identity import Actor, ApprovalId
from tests.bot.policy_tools.past import Answered, home, remember, write
from tests.support.api_tokens import ASK, Api
from tests.support.clock_work import Work
from tests.support.waiting import until

ONCE, DENY = ApprovalReply.ALLOW_ONCE, ApprovalReply.DENY
ANA = Actor("memory", "ana", "Ana")
LONG_AGO = {"version": 1, "week": "2020-01-06"}
HISTORY: list[Answered] = [*[(f"cat file-{number}", ONCE) for number in range(9)], ("ls", DENY)]


def config(**suggest: Any) -> dict[str, Any]:
    """Return a configuration whose people are in the memory channel."""
    place = {"channel": "memory", "to": "room"}
    return {
        "tools": {"exec": {"host": "gateway", "security": "allowlist"}},
        "approvals": {"exec": {"mode": "targets", "targets": [place], "suggest": suggest}},
        "channels": {"memory": {"approvers": ["ana"]}},
    }


async def asked(folder: Path, history: list[Answered] = HISTORY, **suggest: Any) -> Path:
    """Return a home with a week of prompts, whose reports were made long ago."""
    state = home(folder, config(**suggest))
    await remember(f"sqlite:///{state}/state.db", folder, history)
    write(state / NAME, LONG_AGO)
    return state


@asynccontextmanager
async def running(state: Path) -> AsyncIterator[tuple[Gateway, MemoryChannel]]:
    """Run a gateway whose people are in the memory channel."""
    channel = MemoryChannel()
    async with gateway(load(state, environ={}), extra={"memory": channel}) as found:
        yield found, channel


def week(state: Path) -> str:
    """Return the week that was last reported."""
    found: str = json.loads((state / NAME).read_text())["week"]
    return found


def notices(channel: MemoryChannel) -> list[str]:
    """Return what people were told."""
    return [one.notice.text.text for one in channel.shown.values() if one.notice is not None]


class Recorded(list[str]):
    """What people are told, in order."""

    async def tell(self, words: str, _key: str) -> None:
        """Keep the text."""
        self.append(words)


def analysis_of(state: Path, told: Recorded, patience: Patience | None = None) -> WeeklyReport:
    """Return the report of a home, at the gateway's own time."""
    settings = load(state, environ={})
    return WeeklyReport(settings, told.tell, WeekTime(UTC), patience or Patience())


async def test_what_was_missed_is_made_up_and_told_once(tmp_path: Path) -> None:
    """The next start reports; people get numbers and a command, and no second time that week."""
    state = await asked(tmp_path, least=9)
    async with running(state) as (_, channel):
        await until(lambda: notices(channel))
        await until(lambda: week(state) > "2026")
    first = notices(channel)
    write(state / NAME, LONG_AGO)  # as if the gateway died before it recorded the week
    async with running(state) as (_, again):
        await until(lambda: week(state) > "2026")

    (words,) = first
    assert "asked 10 times, and 90% of the answers were to allow it" in words
    assert "1 allowlist entry would have saved 9 of these prompts" in words
    assert "`sayso policy suggest`" in words
    assert "cat" not in words
    assert [] == notices(again)


async def test_a_restart_in_the_same_week_looks_no_more(tmp_path: Path) -> None:
    """The week is in a private file; another gateway over the same home respects it."""
    state, told = await asked(tmp_path, least=9), Recorded()
    await analysis_of(state, told).run()
    await analysis_of(state, told).run()

    assert 1 == len(told)
    assert 0o600 == (state / NAME).stat().st_mode & 0o777
    write(state / NAME, LONG_AGO)
    await analysis_of(state, told).run()
    assert 2 == len(told), "the file was what kept the second one back"


async def test_a_store_in_postgresql_is_looked_at_as_well(
    tmp_path: Path, postgres_url: str
) -> None:
    """Next to the gateway, on a separate connection."""
    state = home(tmp_path, {**config(least=9), "store": {"url": postgres_url}})
    await remember(postgres_url, tmp_path, HISTORY)
    write(state / NAME, LONG_AGO)
    told = Recorded()
    await analysis_of(state, told).run()

    (words,) = told
    assert "asked 10 times" in words
    assert "would have saved 9" in words


@pytest.mark.parametrize(
    ("history", "least", "count"),
    [
        (HISTORY, 10, 0),  # nine are saved
        (HISTORY, 9, 1),
        ([*HISTORY, ("cat x", DENY)], 1, 0),  # denied once: nothing is suggested
        ([], 1, 0),
    ],
)
async def test_nobody_is_told_of_little(
    tmp_path: Path, history: list[Answered], least: int, count: int
) -> None:
    """Below the least that is worth a message the week is counted, and nothing is sent."""
    state, told = await asked(tmp_path, history, least=least), Recorded()
    await analysis_of(state, told).run()

    assert count == len(told)
    assert week(state) > "2026"


@pytest.mark.parametrize("content", [None, "no json", {"week": "soon"}])
async def test_a_first_start_missed_nothing(tmp_path: Path, content: object) -> None:
    """Without a file that can be read, the first report is next Monday's."""
    state, told = await asked(tmp_path, least=1), Recorded()
    (state / NAME).unlink()
    if content is not None:
        write(state / NAME, content)
    await analysis_of(state, told).run()

    assert [] == told
    assert week(state) > "2026"


async def test_the_clock_looks_at_its_time_of_the_week(tmp_path: Path) -> None:
    """A near moment is met; the check of the start alone would have come in an hour."""
    state, told = await asked(tmp_path, least=9), Recorded()
    at = datetime.now(UTC) + timedelta(seconds=2)
    moment = WeekTime(UTC, at.weekday(), at.hour, at.minute, at.second)
    analysis = WeeklyReport(load(state, environ={}), told.tell, moment)
    clock = Clock(Work())
    clock.start()
    try:
        clock.weekly("suggest", moment, analysis.run, jitter_s=0, soon_s=3600)
        assert [] == told
        await until(lambda: told)
    finally:
        clock.stop()

    assert at.date().isoformat() == week(state)


async def test_it_can_be_switched_off(tmp_path: Path) -> None:
    """Without `weekly` the clock has no such job; with it, it has."""
    jobs = {}
    for name, weekly in (("on", True), ("off", False)):
        (tmp_path / name).mkdir()
        settings = load(home(tmp_path / name, config(weekly=weekly)), environ={})
        clock = Clock(Work())
        every_week(clock, Recorded().tell, settings)
        jobs[name] = clock._calendar.get_job("suggest") is not None

    assert {"on": True, "off": False} == jobs


async def test_an_answer_does_not_wait_for_the_look(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is taken while the report is computed, in its own thread; a stop ends that."""
    caplog.set_level(logging.INFO)
    state, told = await asked(tmp_path, least=9), Recorded()
    patience = Patience(longest_s=120, breath_s=1.0)
    async with running(state) as (found, _):
        analysis = asyncio.create_task(analysis_of(state, told, patience).run())
        api = Api.of(found.gate)
        caller = await api.caller("asker", ASK, agent="main")
        approval = await api.ask(caller, "id -u", tmp_path)
        said = await found.gate.answer(Answer(ref=approval, reply=DENY, actor=ANA))
        still = analysis.done()
        ended = await found.gate.wait(ApprovalId(approval), 20_000)
        analysis.cancel()
        await asyncio.gather(analysis, return_exceptions=True)

    assert said.approval is not None
    assert ended is not None
    assert not still
    assert patience.stopped.is_set()
    assert [] == told
    await analysis_of(state, told).run()
    threads = {one.thread for one in caplog.records if "prompts of the week" in one.message}
    assert threads
    assert threading.get_ident() not in threads


def test_a_look_that_takes_too_long_or_is_stopped_ends(tmp_path: Path) -> None:
    """By time, or by the gateway's stop; its error says what to do."""
    state = home(tmp_path, config())
    asyncio.run(remember(f"sqlite:///{state}/state.db", tmp_path, HISTORY))
    settings: Settings = load(state, environ={})
    stopped = Patience()
    stopped.stopped.set()

    for patience in (Patience(longest_s=0), stopped):
        with pytest.raises(AnalysisEnded, match="sayso policy suggest"):
            week_of(settings, patience)
    assert 9 == week_of(settings, Patience()).saved
    assert issubclass(AnalysisEnded, SaysoError)


async def test_what_cannot_be_looked_at_is_tried_at_the_next_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A store that cannot be read is a warning, and the week counts as not reported."""
    state, told = home(tmp_path, config(least=1)), Recorded()
    write(state / NAME, LONG_AGO)
    await analysis_of(state, told).run()

    assert "cannot process the week's prompts: There is no store" in caplog.text
    assert LONG_AGO["week"] == week(state)


BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("now", "last"),
    [
        ("2026-11-23T09:00:00+01:00", "2026-11-23T09:00:00+01:00"),
        ("2026-11-23T08:59:59+01:00", "2026-11-16T09:00:00+01:00"),
        ("2026-11-22T23:59:59+01:00", "2026-11-16T09:00:00+01:00"),
        ("2026-11-22T23:30:00+00:00", "2026-11-16T09:00:00+01:00"),  # Monday there, before nine
        ("2026-10-26T08:30:00+00:00", "2026-10-26T09:00:00+01:00"),  # the night that had 25 hours
        ("2026-10-26T07:30:00+00:00", "2026-10-19T09:00:00+02:00"),
        ("2026-03-30T07:00:00+00:00", "2026-03-30T09:00:00+02:00"),  # the one that had 23
    ],
)
def test_the_last_moment_of_a_week(now: str, last: str) -> None:
    """It is computed in the configured zone, across its clock changes."""
    found = WeekTime(BERLIN).last(datetime.fromisoformat(now))

    assert datetime.fromisoformat(last) == found
