"""`sayso doctor channels` reports what works and what to do about the rest, by trying it."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.channels.slack import workspace as slack
from tests.support.gateway_process import ROOT
from tests.support.three_platforms import three_platforms
from tests.support.waiting import until


async def doctor(home: Path, *words: str) -> tuple[int, list[dict[str, Any]]]:
    """Run the command as a user would; return its code and its findings."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bot", "doctor", "channels", "--json", *words),
        cwd=ROOT,
        env={"SAYSO_HOME": str(home), "PATH": "/usr/bin:/bin", "HOME": str(home)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode is not None
    assert b"Traceback" not in err, err.decode()
    return process.returncode, [json.loads(line) for line in out.splitlines()]


async def test_a_good_set_up_is_proved(tmp_path: Path) -> None:
    """Tokens, scopes or intents and every listed person are checked, and all is well."""
    async with three_platforms(tmp_path):
        code, found = await doctor(tmp_path)

    subjects = {finding["subject"] for finding in found}
    assert [] == [finding for finding in found if finding["verdict"] == "fail"]
    assert 0 == code
    for channel in ("slack", "discord", "telegram"):
        assert any(subject.startswith(f"{channel} ") for subject in subjects), subjects


async def test_a_bad_token_and_an_unknown_person_are_named(tmp_path: Path) -> None:
    """What does not work fails the command, with what to do."""
    async with three_platforms(tmp_path):
        file = tmp_path / "config.json5"
        config = json.loads(file.read_text())
        config["channels"]["telegram"]["token"] = "1:wrong"
        config["channels"]["slack"]["approvers"].append("U0NOBODY99")
        file.write_text(json.dumps(config))
        code, found = await doctor(tmp_path)

    failed = [finding for finding in found if finding["verdict"] == "fail"]
    assert 1 == code
    assert any("telegram" in one["subject"] and "BotFather" in one["detail"] for one in failed)
    assert any("U0NOBODY99" in f"{one['subject']} {one['detail']}" for one in failed), failed


async def test_a_test_prompt_goes_the_whole_way(tmp_path: Path) -> None:
    """The prompt reaches every target, a real press answers it, and `true` runs."""
    async with three_platforms(tmp_path) as at:
        running = asyncio.create_task(doctor(tmp_path, "--prompt", "--seconds", "30"))
        await until(lambda: len(at.open()) == 3, 40)
        await at.press("slack", "Allow once")
        code, found = await running

    assert 0 == code, found
    places = [finding for finding in found if "accepted" in finding["detail"]]
    assert 3 == len(places)
    assert "was allowed, and `true` ran" in found[-1]["detail"]


async def test_a_target_that_cannot_be_reached_is_named(tmp_path: Path) -> None:
    """A place that refuses is reported with the platform's reason; the others still count."""
    gone = {"channel": "slack", "to": "C0GONE0000"}
    reached = {"channel": "slack", "to": slack.CHANNEL}
    async with three_platforms(tmp_path, targets=[gone, reached]) as at:
        running = asyncio.create_task(doctor(tmp_path, "--prompt", "--seconds", "30"))
        await until(lambda: at.open() == {"slack"}, 40)
        await at.press("slack", "Deny")
        code, found = await running

    assert 1 == code
    (failed,) = [finding for finding in found if finding["verdict"] == "fail"]
    assert "C0GONE0000" in failed["subject"]
    assert "invite the bot" in failed["detail"]
    assert "so answers come back" in found[-1]["detail"]


@pytest.mark.slow
async def test_nobody_answering_is_a_warning(tmp_path: Path) -> None:
    """Without a press the command ends on its own and withdraws its prompt."""
    async with three_platforms(tmp_path) as at:
        code, found = await doctor(tmp_path, "--prompt", "--seconds", "1")
        await until(lambda: not at.open())

    assert 0 == code
    assert "warn" == found[-1]["verdict"]
    assert "nobody answered" in found[-1]["detail"]
