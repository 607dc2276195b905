"""Ask a node as a hostile gateway does: what it denies tells nothing about its machine."""

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from core.model.decision import Decision, DenialReason, Reason
from core.model.identity import AgentId
from core.model.stdio import Capture, Stdio
from core.nodes.frames import Prepared, Unprepared
from tests.support.node_bench import Bench, request
from tests.support.runs import new_run


@pytest.mark.parametrize(
    ("settings", "decision"),
    [
        ({"security": "deny"}, Decision.DENY),
        ({"security": "allowlist", "ask": "off"}, Decision.DENY),
        ({"security": "allowlist", "ask": "on-miss"}, Decision.ASK),
    ],
    ids=["deny", "not listed", "asks: the control"],
)
async def test_what_is_denied_lists_no_folder_and_hashes_no_file(
    bench: Bench, tmp_path: Path, settings: dict[str, str], decision: Decision
) -> None:
    """A plan holds what globs found, the SHA-256 of scripts and the settings of repositories."""
    private = tmp_path / "private"
    private.mkdir()
    (private / "key-of-ana").write_text("4711")
    (private / ".git" / "objects").mkdir(parents=True)
    (private / ".git" / "refs").mkdir()
    (private / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (private / ".git" / "config").write_text("[diff]\n\texternal = /opt/external-diff\n")
    bench.approvals(**settings)
    asked = [request(f"stat {private}/*"), request(f"sh {private}/key-of-ana")]
    asked.append(replace(request("git diff"), cwd=str(private)))

    answers = [await bench.prepared(one) for one in asked]

    assert [isinstance(one, Prepared) and one.verdict.decision for one in answers] == [decision] * 3
    hashed = hashlib.sha256(b"4711").hexdigest()
    told = ("key-of-ana", hashed, "/opt/external-diff")
    words = [one.model_dump_json() for one in answers]
    found = [word in text for word, text in zip(told, words, strict=True)]
    assert found == [decision is Decision.ASK] * 3


async def test_what_denies_everything_looks_at_nothing(bench: Bench, tmp_path: Path) -> None:
    """Neither a folder that exists nor one that does not; the control asks, and says which."""
    (tmp_path / "there").mkdir()
    asked = [replace(request("true"), cwd=f"{tmp_path}/{name}") for name in ("there", "gone")]
    bench.approvals(security="deny")
    for one in asked:
        answer = await bench.prepared(one)
        assert isinstance(answer, Prepared)
        assert answer.verdict.reason is Reason.SECURITY_DENY
        assert answer.verdict.why.endswith("(security is deny).")
        refused = await bench.says(bench.order(answer.plan, new_run()))
        assert "did not make" in getattr(refused, "why", "")

    bench.approvals(security="full", ask="off")
    assert isinstance(await bench.prepared(asked[0]), Prepared)
    missing = await bench.prepared(asked[1])
    assert isinstance(missing, Unprepared)
    assert missing.reason is DenialReason.BAD_CWD


@pytest.mark.parametrize("capture", [Capture.SEPARATE, Capture.PTY])
async def test_streams_that_no_frame_holds_are_refused(bench: Bench, capture: Capture) -> None:
    """Their bytes fit no text, so such a run's ending could be neither kept nor delivered."""
    answer = await bench.prepared(replace(request("true"), stdio=Stdio(capture=capture)))
    assert isinstance(answer, Unprepared)
    assert answer.reason is DenialReason.BAD_REQUEST
    assert isinstance(await bench.prepared(request("true")), Prepared)


@pytest.mark.parametrize("name", ["", "A" * 1_000_000, "a\nb"])
async def test_an_agent_has_a_name(bench: Bench, name: str) -> None:
    """What is remembered for each agent is small."""
    answer = await bench.prepared(replace(request("true"), agent=AgentId(name)))
    assert isinstance(answer, Unprepared)
    assert answer.reason is DenialReason.BAD_REQUEST


async def test_countless_agents_are_forgotten(bench: Bench) -> None:
    """Each has a list that is kept ready; the latest thousand are."""
    assert bench.member is not None
    book = bench.member.work.judge.rulebook  # type: ignore[attr-defined]
    for number in range(1_100):
        book.allowlist(AgentId(f"agent{number}"))
    assert len(book._indexed) == 1_000
    assert AgentId("agent1099") in book._indexed
