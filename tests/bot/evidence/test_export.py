"""Export what the chats really showed; its verifier, alone, finds it intact."""

import asyncio
import json
import stat
from copy import deepcopy
from pathlib import Path

import pytest

from bot.evidence.export import VERIFIER
from bot.evidence.journal_slice import ExportScope
from channels.shown_text import readable
from core.errors import BadRequest
from core.model.approval import ApprovalReply
from core.model.evidence import Surface, text_hash
from core.store.outbox import showings
from tests.support.evidence_export import answered, asked, records, verified, written
from tests.support.three_platforms import three_platforms


async def test_the_evidence_is_what_each_platform_received(tmp_path: Path) -> None:
    """Copy by copy: the recorded text is in the platform's message, with its hash."""
    async with three_platforms(tmp_path) as at:
        run = await asked(at, tmp_path)
        store, received = at.running.store, deepcopy(at.shown())
        shown = await store.read(showings.of_approval, run)
        texts = await store.read(showings.texts_of, run)
        await at.press("slack", "Allow once")
        await at.running.gate.wait(run)
        after = await store.read(showings.of_approval, run)

    copies = {one.channel: one for one in shown}
    assert copies.keys() == {"slack", "discord", "telegram"}
    for one in shown:
        assert one.surface is Surface.MESSAGE
        assert one.waiting
        assert one.hash == text_hash(texts[one.hash])
    sent = {name: json.loads(texts[one.hash])[-1] for name, one in copies.items()}
    assert sent["slack"]["blocks"] == received["slack"]["blocks"]
    assert sent["discord"]["content"] == received["discord"]["content"]
    assert sent["telegram"]["text"] == received["telegram"]["text"]
    assert copies["telegram"].message == str(received["telegram"]["message_id"])
    assert "Allow this command?" in readable(texts[copies["slack"].hash])
    (press,) = [one for one in after if one.surface is Surface.ANSWERED]
    assert (press.channel, press.message) == ("slack", copies["slack"].message)


async def test_an_export_is_whole_and_its_verifier_needs_nothing_of_ours(tmp_path: Path) -> None:
    """Next to the gateway, for its owner only; `python -I` has no path to Sayso."""
    to = tmp_path / "evidence.jsonl"
    async with three_platforms(tmp_path) as at:
        run = await answered(at, tmp_path, ApprovalReply.ALLOW_ONCE)
        await answered(at, tmp_path, ApprovalReply.DENY)
        made = await asyncio.to_thread(written, at, to)
        one = to.with_name("one.jsonl")
        only = await asyncio.to_thread(written, at, one, ExportScope(ref=run[:6]))
    assert stat.S_IMODE(to.stat().st_mode) == 0o600
    assert (made.approvals, made.forgotten, only.approvals) == (2, 0, 1)
    assert only.records < made.records
    for file, head, sha256 in ((to, made.head, made.sha256), (one, only.head, only.sha256)):
        done = verified(file, "--head", head, "--sha256", sha256)
        assert (done.returncode, done.stderr) == (0, ""), done.stdout
        assert "shown nothing" not in done.stdout
        assert verified(file, "--head", "0" * 64).returncode == 1
    kinds = [record["kind"] for record in records(to)]
    assert kinds.count("shown") == 2 * (3 + 1)
    assert kinds.count("text") == 2 * 3


async def test_nothing_is_written_over(tmp_path: Path) -> None:
    """Neither the export's file nor another verify.py, and nothing if nothing is requested."""
    async with three_platforms(tmp_path) as at:
        await answered(at, tmp_path, ApprovalReply.DENY)
        there = tmp_path / "there.jsonl"
        there.write_text("mine")
        with pytest.raises(BadRequest, match="is there already, so nothing was written"):
            await asyncio.to_thread(written, at, there)
        with pytest.raises(BadRequest, match="no record of this"):
            await asyncio.to_thread(written, at, tmp_path / "x", ExportScope(ref="zzzz"))
        with pytest.raises(BadRequest, match="no record of this"):
            await asyncio.to_thread(written, at, tmp_path / "x", ExportScope(until_ms=1))
        (tmp_path / VERIFIER).write_text("mine")
        with pytest.raises(BadRequest, match="another file"):
            await asyncio.to_thread(written, at, tmp_path / "new.jsonl")
    assert there.read_text() == (tmp_path / VERIFIER).read_text() == "mine"
    assert not (tmp_path / "x").exists()
    assert not (tmp_path / "new.jsonl").exists()
