"""Check the form of a journal line with only a JSON library and SHA-256."""

import hashlib
import json
from datetime import UTC, datetime

import pytest

from core.audit.chain import (
    GENESIS,
    HEAD_LENGTH,
    BrokenLine,
    Head,
    fields,
    follows,
    head_text,
    read_head,
    seal_of,
    sealed,
)

RECORD: dict[str, object] = {"a": 1, "a!": {"z": [1.5, None, True], "b": "é\u2028\ud800"}, "Ω": ""}


def test_a_line_is_canonical_json_with_its_hash_last() -> None:
    """An independent reader rebuilds the hashed text from the parsed line alone."""
    line, head = sealed(fields(RECORD), "decision", Head())
    record = json.loads(line)
    digest = record.pop("hash")
    text = json.dumps(record, sort_keys=True, separators=(",", ":"))
    assert hashlib.sha256(text.encode()).hexdigest() == digest == head.hash
    assert {key: record[key] for key in RECORD} == RECORD
    assert (record["seq"], record["prev"], record["kind"]) == (1, GENESIS, "decision")
    at = datetime.fromisoformat(record["at"])
    assert abs((datetime.now(UTC) - at).total_seconds()) < 60
    assert record["at"].endswith("Z")
    assert (head.seq, head.end) == (1, len(line))


def test_lines_follow_one_another() -> None:
    """Each line continues the head of the one before, and no other."""
    first, one = sealed({}, "a", Head())
    second, two = sealed({}, "b", one)
    assert follows(first, Head()) == one
    assert follows(second, one) == two
    with pytest.raises(BrokenLine, match="seq is 2, 1 is due"):
        follows(second, Head())
    _, other = sealed({}, "c", Head())
    with pytest.raises(BrokenLine, match="prev"):
        follows(second, other)


def test_every_changed_byte_is_seen() -> None:
    """No byte of a line can be changed, added or left out."""
    line, _ = sealed(fields({"argv": ["ls"]}), "decision", Head())
    assert seal_of(line)
    for place in range(len(line)):
        for changed in (
            line[:place] + bytes([line[place] ^ 1]) + line[place + 1 :],
            line[:place] + line[place + 1 :],
            line[:place] + b" " + line[place:],
        ):
            with pytest.raises(BrokenLine):
                seal_of(changed)


@pytest.mark.parametrize("record", [{"seq": 1}, {"hash": ""}, {"x": float("nan")}, {"x": object()}])
def test_a_record_that_cannot_be_written_is_refused(record: dict[str, object]) -> None:
    """Reserved keys and values that are not JSON never reach the file."""
    with pytest.raises((TypeError, ValueError)):
        fields(record)


def test_a_head_survives_its_text() -> None:
    """The head file has a constant length, so that rewriting it in place is one write."""
    head = Head(7, 4711, "a" * 64)
    assert len(head_text(head)) == len(head_text(Head())) == HEAD_LENGTH
    assert read_head(head_text(head)) == head
    for text in (b"", head_text(head)[:-1], b"x" * HEAD_LENGTH, b"\0" * HEAD_LENGTH):
        assert read_head(text) is None
