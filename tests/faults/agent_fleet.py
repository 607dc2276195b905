"""Make callers that ask, retry and wait as a fleet of agents does, and judge what they received.

Each command records its key when it starts, which shows what ran, and how often, whatever the
gateway says. A caller repeats a failed request under its key until it has an answer.
"""

import json
import random
import re
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bot.client import Client
from core.audit.verify import verify
from core.errors import SaysoError
from tests.support.gateway_process import ROOT, GatewayProcess
from tests.support.waiting import wait_until

_SCRIPT = """#!/bin/sh
echo "$1" >> {folder}/ran
/bin/sleep "$2"
echo "out-$1"
exit "$3"
"""
_KEY = re.compile(r"key-\d+-\d+")
_OPEN = {"queued", "started"}
_ROWS = "SELECT id, state, exit_code, result, text FROM runs"
_TOLD = "SELECT run_id FROM session_events WHERE kind IN ('exec.finished', 'exec.denied')"
Row = dict[str, Any]
Query = Callable[[str], Iterable[Row]]


@dataclass(slots=True)
class Asked:
    """One request: what its command does, and what its caller received in the end."""

    key: str
    seconds: float
    code: int
    end: Row | None = None
    errors: int = 0


@dataclass
class Fleet:
    """Callers of one gateway.

    ``longest`` and ``shortest``: how long a run takes; ``patience``: how long its caller waits (s).
    """

    gateway: GatewayProcess
    folder: Path
    longest: float
    shortest: float = 0.1
    patience: float = 60.0
    seed: int = 0
    asked: list[Asked] = field(default_factory=list)
    _over: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.folder.mkdir()
        self.script = self.folder / "work"
        self.script.write_text(_SCRIPT.format(folder=self.folder))
        self.script.chmod(0o755)
        (self.folder / "ran").touch()

    @contextmanager
    def asking(self, callers: int) -> Iterator[None]:
        """Ask inside the block, which begins when something runs.

        Afterwards every caller has its answer, or has lost patience.
        """
        threads = [threading.Thread(target=self._call, args=(one,)) for one in range(callers)]
        people = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tests.faults.approver",
                self._socket,
                str(self.folder / "said"),
            ],
            cwd=ROOT,
            start_new_session=True,
        )
        try:
            for thread in threads:
                thread.start()
            wait_until("a command that runs", (self.folder / "ran").read_text, seconds=30)
            yield
        finally:
            self._over.set()
            for thread in threads:
                thread.join()
            people.kill()
            people.wait()

    @property
    def _said(self) -> Path:
        return self.folder / "said"

    @property
    def _socket(self) -> str:
        return str(self.gateway.home / "gateway.sock")

    def _call(self, caller: int) -> None:
        draw, number = random.Random(self.seed * 1000 + caller), 0
        while not self._over.is_set():
            number += 1
            seconds = round(draw.uniform(self.shortest, self.longest), 2)
            one = Asked(f"key-{caller}-{number}", seconds, draw.randrange(5))
            self.asked.append(one)
            self._ask(one, people=number % 6 == 0, waits=number % 2 == 0)

    def _ask(self, one: Asked, *, people: bool, waits: bool) -> None:
        wish: Row = {
            "argv": [str(self.script), one.key, str(one.seconds), str(one.code)],
            "cwd": str(self.folder),
            "requestKey": one.key,
            "wait": waits,
            **({"ask": "always"} if people else {}),
        }
        until_then = time.monotonic() + self.patience
        while one.end is None and time.monotonic() < until_then:
            try:
                with Client(self._socket) as client:
                    heard = client.call("exec.run", wish, until_then - time.monotonic())
                    while heard["status"] in {"pending", "running"}:
                        left = until_then - time.monotonic()
                        heard = client.call("exec.wait", {"id": heard["id"]}, left)
                    one.end = heard
            except (SaysoError, OSError):
                one.errors += 1
                time.sleep(0.1)


def complaints(fleet: Fleet, query: Query, *, patience: float = 60.0) -> list[str]:
    """Return what is not as it must be, once the store has had time to take every ending."""
    end = time.monotonic() + patience
    while _is_waited_for(fleet, query) and time.monotonic() < end:
        time.sleep(0.1)
    ran = Counter((fleet.folder / "ran").read_text().split())
    rows: dict[str, list[Row]] = {}
    for row in query(_ROWS):
        rows.setdefault(_KEY.findall(row["text"])[0], []).append(row)
    return [
        *(words for one in fleet.asked for words in _of_caller(one, ran[one.key])),
        *(words for one in fleet.asked for words in _of_rows(one, rows.get(one.key, []), ran)),
        *_of_session([row for some in rows.values() for row in some], query),
        *_of_journal(fleet.gateway.home / "audit.jsonl", rows),
        *_of_retries(fleet),
    ]


def _is_waited_for(fleet: Fleet, query: Query) -> bool:
    files = (fleet.gateway.home / "results").glob("*.json")
    return any(row["state"] in _OPEN for row in query(_ROWS)) or any(files)


def _of_session(rows: list[Row], query: Query) -> Iterator[str]:
    """Judge the session's events: one ending for each run."""
    told = Counter(row["run_id"] for row in query(_TOLD))
    for row in rows:
        if told[row["id"]] != 1:
            yield f"{row['id']} ({row['state']}): its session heard {told[row['id']]} endings"


def _of_caller(one: Asked, ran: int) -> Iterator[str]:
    """Judge what a caller received by how often its command ran."""
    if ran > 1:
        yield f"{one.key}: twice: it ran {ran} times"
    if one.end is None:
        yield f"{one.key}: lost: its caller heard nothing"
        return
    right = {"status": "finished", "exitCode": one.code, "output": f"out-{one.key}\n"}
    heard = {name: one.end.get(name) for name in right}
    if ran and heard != right:
        yield f"{one.key}: lost: it ran, and its caller heard {one.end}"
    if not ran and one.end["status"] != "denied":
        yield f"{one.key}: false: it did not run, and its caller heard {one.end}"


def _of_rows(one: Asked, rows: list[Row], ran: Counter[str]) -> Iterator[str]:
    """Judge the history: one row with the true ending if it ran, none that is open."""
    done = [row for row in rows if row["state"] == "done"]
    for row in rows:
        if row["state"] in _OPEN:
            yield f"{one.key}: hanging: {row['state']}"
        elif row["state"] == "unknown":
            yield f"{one.key}: lost: the history says unknown"
    if len(done) != ran[one.key]:
        yield f"{one.key}: false: it ran {ran[one.key]} times, the history has {len(done)}"
    for row in done:
        printed = json.loads(row["result"])["output"]["text"]
        if (row["exit_code"], printed) != (one.code, f"out-{one.key}\n"):
            yield f"{one.key}: false: {row['exit_code']}, {printed!r}"


def _of_journal(path: Path, rows: dict[str, list[Row]]) -> Iterator[str]:
    """Judge the journal: whole, and one end for each run."""
    verdict = verify(path)
    if not verdict.ok:
        yield f"the journal: {verdict.why}"
    records = [json.loads(line) for line in path.read_text().splitlines()]
    ended = Counter(one["run"] for one in records if one["kind"] == "finish")
    for row in (row for some in rows.values() for row in some if row["state"] == "done"):
        if ended[row["id"]] != 1:
            yield f"{row['id']}: the journal has {ended[row['id']]} endings"


def _of_retries(fleet: Fleet) -> Iterator[str]:
    """Repeat each request that has run: its key must still return its ending, at once."""
    with Client(str(fleet.gateway.home / "gateway.sock")) as client:
        for one in fleet.asked:
            if one.end is None or one.end["status"] != "finished":
                continue
            heard = client.call("exec.wait", {"id": one.end["id"], "timeoutMs": 1000}, 20)
            if heard.get("exitCode") != one.code:
                yield f"{one.key}: hanging: asked again, its caller heard {heard}"


def summary(fleet: Fleet) -> str:
    """Return how many requests were made and how they went."""
    ends = Counter(str(one.end and one.end["status"]) for one in fleet.asked)
    errors = sum(one.errors for one in fleet.asked)
    return f"{len(fleet.asked)} requests: {dict(ends)}; {errors} repeated calls"


def of_sqlite(path: Path) -> Query:
    """Return a reader of a SQLite store next to its gateway."""

    def query(statement: str) -> Iterable[Row]:
        conn = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        conn.row_factory = sqlite3.Row
        try:
            return [dict(row) for row in conn.execute(statement)]
        finally:
            conn.close()

    return query
