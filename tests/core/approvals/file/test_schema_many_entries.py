"""Read an approvals file with very many entries apart from the event loop, and only once."""

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from core.approvals.file.schema import _Document, _meaning, parse
from core.errors import ApprovalsFileError
from core.model.approval import AllowlistEntry
from core.model.identity import AgentId
from tests.support.gate import gate_at
from tests.support.tables import rows

MANY = 30_000
MAIN = AgentId("main")


def write(home: Path, entries: list[Any], *, corrupt: bool = False) -> Path:
    """Write a file with these entries of the agent main, old enough to count as settled."""
    path = home / "exec-approvals.json"
    text = json.dumps({"version": 1, "agents": {"main": {"allowlist": entries}}})
    path.write_text(text[:-1] if corrupt else text)
    path.chmod(0o600)
    return path


def many(count: int = MANY, name: str = "tool") -> list[dict[str, str]]:
    """Return entries as allow-always writes them."""
    return [{"id": f"{name}-{one}", "pattern": f"/opt/{name}/{one}"} for one in range(count)]


async def turns_during(work: Any) -> int:
    """Return the number of event loop turns while something is done."""
    turns, over = 0, False

    async def count() -> None:
        nonlocal turns
        while not over:
            await asyncio.sleep(0.001)
            turns += 1

    counting = asyncio.create_task(count())
    await asyncio.sleep(0.01)
    before = turns
    await work()
    found = turns - before
    over = True
    await counting
    return found


async def test_everything_else_goes_on_while_it_is_read(tmp_path: Path) -> None:
    """At the start and after a change; the control is the same without preparation."""
    async with gate_at(tmp_path) as gate:
        rulebook = gate.rulebook

        async def blocking() -> None:
            rulebook.allowlist(MAIN)

        for name in ("a", "b"):
            write(tmp_path, many(name=name))
            assert await turns_during(lambda: rulebook.ready(MAIN)) >= 10
            assert rulebook.allowlist(MAIN).match((f"/opt/{name}/{MANY - 1}",))
        write(tmp_path, many(name="c"))
        assert await turns_during(blocking) <= 1


async def test_a_file_that_is_wrong_is_read_once_too(tmp_path: Path) -> None:
    """Each request is refused with its text; only a change has it read again."""
    write(tmp_path, many(), corrupt=True)
    async with gate_at(tmp_path) as gate:
        file = gate.rulebook.file
        words = set()
        end = time.monotonic() + 20
        while not file.is_read():
            assert time.monotonic() < end
            with pytest.raises(ApprovalsFileError) as refused:
                file.read()
            words.add(str(refused.value))
        took = time.process_time()
        for _ in range(100):
            with pytest.raises(ApprovalsFileError) as refused:
                file.read()
            words.add(str(refused.value))
        assert time.process_time() - took < 1.0, "it was read again"
        assert len(words) == 1

        write(tmp_path, many(3))
        assert len(file.read().agents[MAIN].allowlist) == 3


ODD = [
    {"pattern": "/usr/bin/a"},
    {"pattern": "/usr/bin/b", "id": None},
    {"pattern": "/usr/bin/c", "argv": ["x", "*"]},
    {"pattern": "/usr/bin/d", "argv": []},
    {"pattern": "/usr/bin/e", "argv": None, "id": "E"},
    {"pattern": "/usr/bin/ä"},
    {"pattern": "/usr/bin/f", "note": "why", "lastUsedAt": 1.5},
    {"pattern": "/usr/bin/g", "until": 1},
    {"pattern": "bare"},
    {"pattern": "/usr/bin/h", "content": {"/srv/x.py": "0" * 64}},
    {"pattern": "/usr/bin/h", "content": {}},
    {"pattern": "/usr/bin/h", "argv": ["x"], "content": {}, "note": "why"},
    {"pattern": "/usr/bin/*", "content": {}},
    {"pattern": "/usr/bin/i", "argv": ["ü"]},
    {"pattern": "/usr/bin/j", "argv": ["<int>", "<<<"]},
]


def test_the_quick_reader_reads_as_the_slow_one() -> None:
    """Entries of every shape, in their order, with the same warnings at the same places."""
    text = json.dumps({"version": 1, "extra": 1, "agents": {"main": {"allowlist": ODD}, "b": {}}})
    slow: list[str] = ["extra: unknown key, kept and ignored."]
    by_model = _meaning(_Document.model_validate_json(text), slow)

    assert parse(text.encode(), "file")[1] == by_model
    assert AllowlistEntry("/usr/bin/c", None, ("x", "*")) in by_model.agents[MAIN].allowlist


WRONG = [
    {"pattern": ""},
    {"pattern": 1},
    {"pattern": None},
    {"id": "x"},
    {"pattern": "/a", "id": 1},
    {"pattern": "/a", "argv": "x"},
    {"pattern": "/a", "argv": [1]},
    {"pattern": "/a", "argv": {"0": "x"}},
    {"pattern": "/a", "argv": [None]},
    {"pattern": "/" + "a" * 100_000},
    {"pattern": "/a", "argv": ["a" * 100_000]},
    {"pattern": "/\ud800"},
    {"pattern": "/a", "argv": ["\ud800"]},
    {"pattern": "/a", "id": "\ud800"},
    {"pattern": "/a", "content": None},
    {"pattern": "/a", "content": []},
    {"pattern": "/a", "content": {"a": "x"}},
    "entry",
    None,
    ["pattern", "/a"],
]


@rows("entry", WRONG)
def test_what_the_slow_reader_refuses_the_quick_one_does(entry: object) -> None:
    """With the place of the entry among all, plain ones before it or not."""
    listed = [{"pattern": "/usr/bin/true"}, entry]
    text = json.dumps({"version": 1, "agents": {"main": {"allowlist": listed}}})

    with pytest.raises(ApprovalsFileError, match=r"agents\.main\.allowlist\.1|line 1"):
        parse(text.encode(), "file")
