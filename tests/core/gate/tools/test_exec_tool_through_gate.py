"""Call Exec on the straight line: limits, policy, people, folders, and the tool Which."""

import asyncio
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from core.gate.tools.protocol import ToolAnswer, ToolDone, ToolError, ToolPending, ToolRefused
from core.gate.tools.registry import DENIED, DISPATCHED
from core.model.approval import ApprovalReply
from core.model.decision import DenialReason
from core.model.result import Finished
from core.store import approvals
from tests.core.gate.tools.tool_calls import Bench, bench
from tests.support.gate import layer, list_patterns, says


async def test_each_stream_has_its_own_text_and_code(tmp_path: Path) -> None:
    """Standard error and a code that is not 0 are results, not errors."""
    async with bench(tmp_path) as at:
        result = await at.done("/bin/ls", "here", "absent")
        (at.work / "here").touch()
        both = await at.done("/bin/ls", "here", "absent", cwd=str(at.work))

    assert 2 == result["exit_code"]
    assert ("here\n", True) == (both["stdout"], "absent" in both["stderr"])


async def test_limits_are_those_of_the_page(tmp_path: Path) -> None:
    """CPU seconds as the timeout, 512 MB, 64 MB files, 256 descriptors (S3 §4)."""
    async with bench(tmp_path, read=("/usr/bin", "/proc")) as at:
        seen = await at.done("/bin/cat", "/proc/self/limits", timeout_s=7)

    rows = {line[:26].strip(): line[26:].split()[0] for line in seen["stdout"].splitlines()[1:]}
    assert ["7", str(512 << 20), str(64 << 20), "256", "0"] == [
        rows[f"Max {name}"]
        for name in ("cpu time", "data size", "file size", "open files", "core file size")
    ]


async def test_standard_input_is_empty(tmp_path: Path) -> None:
    """Version 1 of the page gives none."""
    async with bench(tmp_path) as at:
        assert "" == (await at.done("/bin/cat", timeout_s=5))["stdout"]


@pytest.mark.parametrize(
    ("env", "reason"),
    [
        ({"PATH": "/tmp"}, DenialReason.FORBIDDEN_ENVIRONMENT),
        ({"LD_PRELOAD": "/tmp/x.so"}, DenialReason.FORBIDDEN_ENVIRONMENT),
        ({"SAYSO_RUN": "x"}, DenialReason.BAD_REQUEST),
    ],
)
async def test_what_chooses_code_may_not_be_set(
    tmp_path: Path, env: dict[str, str], reason: DenialReason
) -> None:
    """Where the page lets PATH be overridden, policy refuses it (docs/decisions)."""
    async with bench(tmp_path) as at:
        answer = await at.refused({"argv": ["/bin/echo"], "env": env})
        records = at.journal(DENIED)

    assert (ToolError.DENIED, reason) == (answer.error, answer.reason)
    assert [answer.run_id] == [record["run"] for record in records]


async def test_policy_denies_what_no_list_covers(tmp_path: Path) -> None:
    """The capability opens an entry point and allows nothing on its own."""
    async with bench(tmp_path, everyone=layer()) as at:
        list_patterns(at.home, "/usr/bin/echo")
        listed = await at.call({"argv": ["/bin/echo", "hello"]})
        script = await at.refused({"argv": ["/bin/sh", "-s"]})
        outside = await at.refused({"argv": ["/bin/cat", "/etc/passwd"]})

    assert isinstance(listed, ToolDone)
    assert {DenialReason.CAPABILITY_DENIED} == {script.reason, outside.reason}


async def test_a_question_is_answered_by_its_id(tmp_path: Path) -> None:
    """At once (S1); what runs unasked is waited for as usual, and the id gives the end."""
    async with bench(tmp_path, everyone=layer()) as at:
        list_patterns(at.home, "/usr/bin/echo")
        asked = await at.call({"argv": ["/usr/bin/uname"]}, wait=False)
        listed = await at.call({"argv": ["/usr/bin/echo", "hi"]}, wait=False)
        assert isinstance(asked, ToolPending)
        await at.gate.answer(says(asked.run_id, ApprovalReply.ALLOW_ONCE))
        for run_id, plan in await at.gate.queued():
            await at.gate.run_approved(run_id, plan)
        ended = await at.gate.status(asked.run_id)

    assert isinstance(listed, ToolDone)
    assert isinstance(ended, Finished)
    assert asked.code == asked.run_id[:6].upper()
    assert asked.deadline_ms > 0
    assert not at.journal("tool.call.denied")


@pytest.mark.parametrize("reply", [ApprovalReply.ALLOW_ONCE, ApprovalReply.DENY])
async def test_people_are_asked_and_the_call_waits(tmp_path: Path, reply: ApprovalReply) -> None:
    """What is not listed waits for a person; the streams return apart, a denial as a result."""
    async with bench(tmp_path, everyone=layer()) as at:
        calling = asyncio.create_task(at.call({"argv": ["/bin/echo", "asked"]}))
        await answered(at, calling, reply)
        async with asyncio.timeout(10):
            answer = await calling
        dispatched, denied = at.journal(DISPATCHED), at.journal(DENIED)

    assert 1 == len(dispatched)
    if reply is ApprovalReply.DENY:
        assert isinstance(answer, ToolRefused)
        assert (ToolError.DENIED, DenialReason.APPROVER_DENIED) == (answer.error, answer.reason)
        assert [DenialReason.APPROVER_DENIED] == [record["reason"] for record in denied]
    else:
        assert isinstance(answer, ToolDone)
        assert ("asked\n", "") == (answer.result["stdout"], answer.result["stderr"])
        assert [] == denied


async def answered(at: Bench, calling: asyncio.Task[ToolAnswer], reply: ApprovalReply) -> None:
    """Answer the one question as Ana, and run what she allowed."""
    while not (waiting := await at.gate.store.read(approvals.pending, 2)):
        assert not calling.done(), calling.result()
        await asyncio.sleep(0.01)
    assert not calling.done()
    await at.gate.answer(says(waiting[0].id, reply))
    for run_id, plan in await at.gate.queued():
        await at.gate.run_approved(run_id, plan)


async def test_without_a_folder_it_works_in_the_agents_own(tmp_path: Path) -> None:
    """The first granted folder that exists, writable ones first; never the gateway's own."""
    async with bench(tmp_path) as at:
        result = await at.done("/bin/pwd")
        at.work.rmdir()
        fallen_back = await at.refused({"argv": ["/bin/touch", "x"]})

    assert f"{at.work}\n" == result["stdout"]
    assert DenialReason.CAPABILITY_DENIED is fallen_back.reason  # /usr/bin is for reading only


async def test_a_folder_that_is_none_is_named(tmp_path: Path) -> None:
    """Absent, a file, a link that leads out: each has its own error."""
    async with bench(tmp_path) as at:
        (at.work / "file").touch()
        (at.work / "out").symlink_to("/etc")
        told = {
            name: await at.refused({"argv": ["/bin/pwd"], "cwd": f"{at.work}/{name}"})
            for name in ("absent", "file", "out")
        }

    assert "does not exist or is not a directory" in told["absent"].message
    assert [ToolError.INVALID_ARGS, ToolError.INVALID_ARGS, ToolError.FS_DENIED] == [
        one.error for one in told.values()
    ]


async def test_a_refusal_says_nothing_of_files_out_of_reach(tmp_path: Path) -> None:
    """Outside the grants, what exists and what does not get the same message."""
    async with bench(tmp_path) as at:
        there = await at.refused({"argv": ["/etc/passwd"]})
        absent = await at.refused({"argv": ["/etc/absent"]})

    assert there.message == absent.message.replace("absent", "passwd")


async def test_secrets_stay_out_of_the_journal(tmp_path: Path) -> None:
    """Also in a call that is refused, in an odd vector, and in the environment."""
    secret = "ghp_" + "a1B2" * 9
    attempts: list[dict[str, Any]] = [
        {"argv": ["/bin/echo", secret], "env": {"TOKEN": secret}},
        {"argv": ["echo", "--password", "hunter2hunter2", secret, 7]},
        {"argv": secret},
    ]
    async with bench(tmp_path) as at:
        for args in attempts:
            await at.call(args)
        text = (at.home / "audit.jsonl").read_text(encoding="utf-8")

    assert 3 == text.count('"kind":"tool.call.')
    assert secret not in text
    assert "hunter2hunter2" not in text


async def test_git_runs_nothing_that_the_folder_names(tmp_path: Path) -> None:
    """The tool's environment overrides a setting that names a program: no one is asked."""
    async with bench(tmp_path, everyone=layer()) as at:
        list_patterns(at.home, "/usr/bin/git")
        _plant(at.work)
        line = ["/usr/bin/git", "status", "--short"]
        seen = await at.call({"argv": line, "cwd": str(at.work)})
        ran_here = (at.work / "ran").exists()
        await asyncio.to_thread(_git, line, at.work)

    assert isinstance(seen, ToolDone)
    assert "A  file" in str(seen.result["stdout"])
    assert not ran_here
    assert (at.work / "ran").exists(), "the control: git by itself obeys the setting"


def _git(line: list[str], folder: Path) -> None:
    subprocess.run(line, cwd=folder, check=True, capture_output=True)


def _plant(folder: Path) -> None:
    """Make a repository whose configuration names a program that leaves a file."""
    planted = folder / "planted.sh"
    planted.write_text(f"#!/bin/sh\ntouch {folder}/ran\n")
    planted.chmod(0o755)
    (folder / "file").write_text("x")
    for words in (["init", "-q"], ["add", "file"], ["config", "core.fsmonitor", str(planted)]):
        subprocess.run(["git", "-C", str(folder), *words], check=True)


async def test_a_flood_of_words_leaves_a_short_record(tmp_path: Path) -> None:
    """What was refused is kept to 4,096 characters: masking all of it would stall the gateway."""
    async with bench(tmp_path) as at:
        await at.refused({"argv": ["x" * 100_000] * 3 + [""] * 5_000})
        (record,) = at.journal(DENIED)

    assert ["x" * 4_096, "… and 5002 more"] == record["args"]["argv"]
    assert len(record["why"]) < 4_096


async def test_which_names_programs_that_may_be_read(tmp_path: Path) -> None:
    """Exec takes absolute paths only, so an agent can look them up."""
    async with bench(tmp_path, tools=["Which"]) as at:
        found = await at.call({"names": ["echo", "no-such-program"]}, "Which")
        odd = await at.call({"names": ["../bin/echo"]}, "Which")
    other = tmp_path / "other"
    other.mkdir()
    async with bench(other, tools=["Which"], read=("/opt",)) as at:
        hidden = await at.call({"names": ["echo"]}, "Which")

    assert isinstance(found, ToolDone)
    assert {"echo": os.path.realpath("/bin") + "/echo", "no-such-program": None} == found.result[
        "paths"
    ]
    assert isinstance(hidden, ToolDone)
    assert {"echo": None} == hidden.result["paths"]
    assert isinstance(odd, ToolRefused)
    assert ToolError.INVALID_ARGS is odd.error
