"""Find each change of an export, even if it was sealed again."""

import asyncio
import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.audit.verify_export import main, verify
from core.model.approval import ApprovalReply
from tests.support.evidence_export import answered, asked, written
from tests.support.evidence_tampering import journal, of, rechained, relined, resealed
from tests.support.three_platforms import three_platforms

Record = dict[str, Any]
Records = list[Record]
Change = Callable[[Records], object]


async def _made(folder: Path) -> Path:
    to = folder / "evidence.jsonl"
    async with three_platforms(folder) as at:
        await answered(at, folder, ApprovalReply.ALLOW_ONCE)
        await answered(at, folder, ApprovalReply.DENY)
        await asked(at, folder)
        await asyncio.to_thread(written, at, to)
    return to


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return an export: one allowed, one denied, one that waits."""
    return asyncio.run(_made(tmp_path_factory.mktemp("tampering"))).read_bytes()


def edited(kind: str, name: str, value: object, number: int = 0) -> Change:
    """Return a change of one member."""

    def change(records: Records) -> None:
        record = of(records, kind, number)
        assert record[name] != value
        record[name] = value

    return change


def without(kind: str, number: int = 0) -> Change:
    """Return a change that leaves one record out."""
    return lambda records: records.remove(of(records, kind, number))


def retold(records: Records) -> None:
    """Replace what was shown with another prompt, with its hash."""
    text, digest = "[]", hashlib.sha256(b"[]").hexdigest()
    was = of(records, "text")["hash"]
    of(records, "text").update(text=text, hash=digest)
    for one in records:
        if one["kind"] == "shown" and one["hash"] == was:
            one["hash"] = digest


def forgotten(records: Records) -> None:
    """Say that an approval is forgotten, and leave it there."""
    records[0]["forgotten"].append(of(records, "approval")["id"])


def invented(records: Records) -> None:
    """Add an approval that no one asked for."""
    records.insert(-1, {**of(records, "approval"), "id": "0" * 26})


def shown_to_another(records: Records) -> None:
    """Add a person's look at a prompt."""
    extra = {**of(records, "shown"), "key": "whole:api:mallory", "account": "mallory"}
    records.insert(-1, extra)


def swapped(records: Records) -> None:
    """Swap two journal lines."""
    first, second = journal(records, "ask"), journal(records, "ask", 1)
    first["line"], second["line"] = second["line"], first["line"]


def relabelled(records: Records) -> None:
    """Give one approval's showings to another."""
    other = of(records, "approval", 1)["id"]
    for one in records:
        if one["kind"] in {"shown", "text"}:
            one["approval"] = other


LATE = 2_000_000_000_000
TAMPERED: dict[str, Change] = {
    "allowed becomes denied": edited("approval", "state", "denied"),
    "denied becomes allowed": edited("approval", "state", "allowed", 1),
    "waiting becomes allowed": edited("approval", "state", "allowed", 2),
    "another reply": edited("approval", "reply", "allow-always"),
    "another person": edited("approval", "by", "slack:U0MALLORY"),
    "nobody": edited("approval", "by", None),
    "another command": edited("approval", "command", "true"),
    "another plan": edited("approval", "digest", "0" * 64),
    "another agent": edited("approval", "agent", "other"),
    "another session": edited("approval", "session", "other"),
    "another requester": edited("approval", "requester", "socket:uid:4"),
    "another note": edited("approval", "note", "as agreed"),
    "decided earlier": edited("approval", "decided_ms", 1),
    "decided later": edited("approval", "decided_ms", LATE),
    "a later deadline": edited("approval", "deadline_ms", LATE),
    "other votes": edited("approval", "votes", ["slack:U0MALLORY"]),
    "a quorum": edited("approval", "quorum", 2),
    "asked later": edited("approval", "created_ms", LATE),
    "another text": edited("text", "text", "[]"),
    "another hash": edited("text", "hash", "0" * 64),
    "another text with its hash": retold,
    "shown elsewhere": edited("shown", "place", "C0OTHER"),
    "shown on another platform": edited("shown", "channel", "webhook", 1),
    "shown earlier": edited("shown", "at_ms", 1),
    "shown as another message": edited("shown", "message", "1.1"),
    "shown to somebody": edited("shown", "account", "U0MALLORY"),
    "shown afterwards": edited("shown", "waiting", False),
    "one showing less": without("shown"),
    "one showing more": shown_to_another,
    "one text less": without("text"),
    "one approval less": without("approval"),
    "a waiting approval less": without("approval", 2),
    "one approval more": invented,
    "one approval twice": lambda rows: rows.insert(-1, of(rows, "approval")),
    "said to be forgotten": forgotten,
    "evidence of another": relabelled,
    "a journal line less": lambda rows: rows.remove(journal(rows, "resolve")),
    "the last journal line less": lambda rows: rows.remove(
        [one for one in rows if one["kind"] == "journal"][-1]
    ),
    "the first journal line less": without("journal"),
    "a journal line twice": lambda rows: rows.insert(2, of(rows, "journal")),
    "two journal lines swapped": swapped,
    "a changed journal line": lambda rows: relined(journal(rows, "resolve"), state="denied"),
    "a broken journal line": edited("journal", "line", "{}"),
    "another beginning": lambda rows: rows[0]["journal"].update(prev="1" * 64),
    "another end": lambda rows: rows[0]["journal"].update(head="1" * 64),
    "another version": edited("export", "version", 2),
    "no header": without("export"),
    "two headers": lambda rows: rows.insert(1, rows[0]),
    "a new chain with another state": lambda rows: rechained(rows, "resolve", state="denied"),
    "a new chain with another person": lambda rows: rechained(rows, "resolve", by="slack:U1"),
    "a new chain with another sum": lambda rows: rechained(rows, "resolve", shown="0" * 64),
    "a new chain, seen later": lambda rows: rechained(rows, "resolve", seen_ms=LATE),
    "a new chain, started before": lambda rows: rechained(rows, "start", digest="0" * 64),
    "a new chain with another command": lambda rows: rechained(rows, "ask", command="true"),
}


def problems(data: bytes, *, sha256: str = "", head: str = "") -> list[str]:
    """Return what the verifier finds."""
    return verify(io.BytesIO(data), sha256, head).problems


def test_the_export_as_it_was_is_whole(made: bytes) -> None:
    """The negative control of all below, also when sealed again without a change."""
    assert problems(made) == []
    assert problems(resealed([json.loads(line) for line in made.splitlines()])) == []


@pytest.mark.parametrize("name", TAMPERED)
def test_a_change_is_found_though_the_file_was_sealed_anew(made: bytes, name: str) -> None:
    """A changed export can be sealed again; its statements must then not fit together."""
    records = [json.loads(line) for line in made.splitlines()]
    TAMPERED[name](records)
    assert problems(resealed(records))


VOTES = ["slack:U0ANA", "telegram:77"]
VOTE = {"run": "", "digest": "", "reply": "allow-once", "by": VOTES[0], "votes": VOTES[:1]}


def voted(made: bytes) -> Records:
    """Return the export with an approval that two people allowed, as its journal says."""
    records = [json.loads(line) for line in made.splitlines()]
    rechained(records, "resolve", votes=VOTES)
    of(records, "approval").update(votes=VOTES, quorum=2)
    return records


@pytest.mark.parametrize("votes", [[], VOTES[:1], VOTES[::-1], [*VOTES, "discord:9"]])
def test_votes_are_those_of_the_journal(made: bytes, votes: list[str]) -> None:
    """Emptied, one less, another order, one more: found without a noted hash; not the control."""
    records = voted(made)
    assert problems(resealed(records)) == []
    of(records, "approval")["votes"] = votes
    assert problems(resealed(records)) == [
        f"{of(records, 'approval')['id']}: the journal has other votes"
    ]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"votes": []}, "votes of the journal are missing"),
        ({"quorum": 1}, "another quorum"),
        ({}, ""),
    ],
)
def test_votes_before_a_decision_are_there(made: bytes, changes: Record, words: str) -> None:
    """Of a waiting question, the journal's last vote names those that counted; the control."""
    records = [json.loads(line) for line in made.splitlines()]
    waiting = of(records, "approval", 2)
    waiting.update({"votes": VOTES[:1], "quorum": 2, **changes})
    vote = {**VOTE, "kind": "vote", "run": waiting["id"], "quorum": 2}
    relined(journal(records, "finish"), **vote)
    rechained(records, "ask")
    found = problems(resealed(records))
    assert [words in one for one in found] == ([True] if words else [])


def test_what_was_not_checked_is_said(
    made: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a noted hash no one knows whether all was made again; with one it is not said."""
    file = tmp_path / "evidence.jsonl"
    file.write_bytes(made)
    assert main([str(file)]) == 0
    alone = capsys.readouterr().out
    assert main([str(file), "--sha256", hashlib.sha256(made).hexdigest()]) == 0

    assert "nothing that was noted elsewhere" in alone
    assert "noted elsewhere" not in capsys.readouterr().out


def test_a_rewritten_chain_that_fits_is_found_by_what_was_noted(made: bytes) -> None:
    """The limit of any export: changing everything to match is found only by notes elsewhere."""
    records = [json.loads(line) for line in made.splitlines()]
    noted = records[0]["journal"]["head"]
    rechained(records, "ask", command="true")
    of(records, "approval")["command"] = "true"
    forged = resealed(records)
    assert problems(forged) == []
    assert problems(forged, head=noted)
    assert problems(forged, sha256=hashlib.sha256(made).hexdigest())


@pytest.mark.parametrize("at", [0.1, 0.3, 0.5, 0.7, 0.9, 0.999])
def test_any_changed_byte_is_found(made: bytes, at: float) -> None:
    """Without a new seal, wherever it is."""
    place = int(len(made) * at)
    assert problems(made[:place] + bytes([made[place] ^ 1]) + made[place + 1 :])
    assert problems(made[:place])
    assert problems(made + b"{}\n")


def test_a_forged_name_moves_no_cursor(
    made: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It could write "ok" over what is broken."""
    records = [json.loads(line) for line in made.splitlines()]
    of(records, "approval")["id"] = "gone\x1b[2K\rok: 9 journal records\n"
    file = tmp_path / "forged.jsonl"
    file.write_bytes(resealed(records))
    assert main([str(file)]) == 1
    said = capsys.readouterr().out
    assert "gone\\x1b[2K\\rok" in said
    assert all(line.startswith("broken: ") for line in said.splitlines())
