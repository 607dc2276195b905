"""Cut the links of nodes at random moments of a run, and judge what happened to each run.

Each case is one command and one cut. The command records on disk when it starts and when it ends;
the store says how the run ended, and the sessions' events what was reported of it.
"""

import random
import sqlite3
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import count
from pathlib import Path
from typing import Any

from bot.client import Client
from core.errors import SaysoError
from tests.support.link_relay import Cut
from tests.support.node_fleet import FleetNode, NodeFleet

CODE = 7
"""What each command exits with."""
_END_S = 90.0
"""How long a run's ending may take to arrive: a half-open link is noticed within 20 s."""


class Death(StrEnum):
    """What happens to an end itself."""

    NODE_KILLED = "node killed"
    GATEWAY_KILLED = "gateway killed"
    GATEWAY_STOPPED = "gateway stopped"
    BOTH_KILLED = "both killed"


Blow = Cut | Death
KINDS: dict[Blow, int] = {
    Cut.DROPPED: 230,
    Cut.LOST_ORDERS: 160,
    Cut.LOST_ENDINGS: 180,
    Cut.DELAYED: 110,
    Cut.HALF_OPEN: 50,
    Cut.NODE_SIDE_ONLY: 110,
    Cut.REORDERED: 120,
    Death.NODE_KILLED: 28,
    Death.GATEWAY_KILLED: 5,
    Death.GATEWAY_STOPPED: 3,
    Death.BOTH_KILLED: 4,
}
"""Each blow and its weight."""
KILLS = frozenset({Death.NODE_KILLED, Death.BOTH_KILLED})


@dataclass(frozen=True)
class Case:
    """One command, and what was done while it was requested, ran or ended."""

    token: str
    blow: Blow
    node: str


@dataclass
class Trial:
    """Cases on a fleet; ``mark`` is the file that the commands write to."""

    fleet: NodeFleet
    mark: Path
    seed: int
    cases: list[Case] = field(default_factory=list)
    _numbers: "count[int]" = field(default_factory=count)
    _gateway: threading.Lock = field(default_factory=threading.Lock)

    def run(self, wanted: int, kinds: dict[Blow, int] = KINDS, longest_s: float = 1_150) -> None:
        """Run this many cases, on all nodes at once; fewer if the time is up."""
        self.mark.touch()
        blows = self._drawn(wanted, kinds)
        ends = time.monotonic() + longest_s

        def work(node: FleetNode) -> None:
            dice = random.Random(f"{self.seed} {node.name}")
            while time.monotonic() < ends:
                try:
                    blow = blows.pop()
                except IndexError:
                    return
                self.cases.append(self._case(node, blow, dice))

        with ThreadPoolExecutor(len(self.fleet.nodes)) as pool:
            for done in [pool.submit(work, node) for node in self.fleet.nodes]:
                done.result()

    def _drawn(self, wanted: int, kinds: dict[Blow, int]) -> list[Blow]:
        """Return each kind in its share, at least once if there is room, in random order."""
        dice = random.Random(self.seed)
        blows = list(kinds)[:wanted]
        blows += dice.choices(list(kinds), list(kinds.values()), k=wanted - len(blows))
        dice.shuffle(blows)
        return blows

    def _case(self, node: FleetNode, blow: Blow, dice: random.Random) -> Case:
        """Start commands until one is not refused because the node is away, and cut its link."""
        while True:
            self._until_connected(node)
            token = f"t{next(self._numbers)}x"
            wish = self._wish(node, token, dice.uniform(0, 0.4))
            with Client(str(self.fleet.gateway.home / "gateway.sock")) as client:
                with suppress(OSError):
                    client.begin("exec.run", wish)
                if dice.random() < 0.5:
                    self._until_begun(token)
                time.sleep(dice.uniform(0, 0.6))
                self._strike(node, blow, dice.uniform(0.1, 0.8))
            if self._ended(wish) != "denied":
                return Case(token, blow, node.id)

    def lose_endings(self) -> None:
        """Start a command on each node, and lose what the node says while it ends."""
        self.mark.touch()
        for node in self.fleet.nodes:
            self._until_connected(node)
            token = f"t{next(self._numbers)}x"
            wish = self._wish(node, token, 1.0)
            with Client(str(self.fleet.gateway.home / "gateway.sock")) as client:
                client.begin("exec.run", wish)
                self._until_begun(token)
                node.relay.cut(Cut.LOST_ENDINGS, 2.5)
            self._ended(wish)
            self.cases.append(Case(token, Cut.LOST_ENDINGS, node.id))

    def _until_begun(self, token: str) -> None:
        """Wait for a command to start, but not for long if it never does."""
        ends = time.monotonic() + 5
        while f"begun {token}" not in self.mark.read_text() and time.monotonic() < ends:
            time.sleep(0.02)

    def _until_connected(self, node: FleetNode) -> None:
        """Wait until a node takes a command that does nothing."""
        wish = self._wish(node, "", 0) | {"argv": ["/bin/true"]}
        del wish["requestKey"]
        ends = time.monotonic() + _END_S
        while time.monotonic() < ends:
            with suppress(SaysoError, OSError):
                if self.fleet.call("exec.run", wish, timeout=30)["status"] == "finished":
                    return
            time.sleep(0.2)
        raise AssertionError(f"{node.name} does not come back")

    def _wish(self, node: FleetNode, token: str, seconds: float) -> dict[str, Any]:
        script = (
            f"echo begun {token} >> {self.mark}; sleep {seconds:.3f}; "
            f"echo ended {token} >> {self.mark}; exit {CODE}"
        )
        return {
            "argv": ["/bin/sh", "-c", script],
            "cwd": "/",
            "agent": "free",
            "host": "node",
            "node": node.id,
            "session": f"session-{node.name}",
            "requestKey": token,
            "wait": False,
        }

    def _strike(self, node: FleetNode, blow: Blow, seconds: float) -> None:
        if isinstance(blow, Cut):
            node.relay.cut(blow, seconds)
            return
        if blow in KILLS:
            node.process.kill()
        if blow is not Death.NODE_KILLED:
            with self._gateway:
                if blow is Death.GATEWAY_STOPPED:
                    self.fleet.gateway.stop()
                else:
                    self.fleet.gateway.kill()
                self.fleet.gateway.start()
        if blow in KILLS:
            time.sleep(seconds)
            node.process.start()

    def _ended(self, wish: dict[str, Any]) -> str:
        """Wait until a run has ended, and return its status; the same key asks for the same run."""
        ends, status = time.monotonic() + _END_S, ""
        while time.monotonic() < ends:
            with suppress(SaysoError, OSError):
                answer = self.fleet.call("exec.run", wish, timeout=40)
                if answer["status"] in {"running", "pending"}:
                    wait = {"id": answer["id"], "timeoutMs": 5_000}
                    answer = self.fleet.call("exec.wait", wait, timeout=40)
                status = str(answer["status"])
                if status not in {"running", "pending"}:
                    return "denied" if self._is_refused(answer) else status
            time.sleep(0.05)
        return status

    def _is_refused(self, answer: dict[str, Any]) -> bool:
        """Return whether a request was denied before it was claimed; then it is not a run."""
        return answer["status"] == "denied" and not _rows(self.fleet, str(answer["id"]))


@dataclass(frozen=True)
class Told:
    """What the gateway has of one run."""

    id: str
    state: str
    code: int | None
    final: int


def _rows(fleet: NodeFleet, run_id: str) -> list[Any]:
    with sqlite3.connect(fleet.gateway.home / "state.db", timeout=20) as store:
        query = "SELECT id FROM runs WHERE id = ? AND started_ms IS NOT NULL"
        return store.execute(query, (run_id,)).fetchall()


def told(fleet: NodeFleet) -> dict[str, list[Told]]:
    """Return the claimed runs of each token, from the store of a gateway that is down."""
    with sqlite3.connect(fleet.gateway.home / "state.db") as store:
        finals = Counter(
            run_id
            for (run_id,) in store.execute(
                "SELECT run_id FROM session_events WHERE kind IN ('exec.finished', 'exec.denied')"
            )
        )
        rows = store.execute(
            "SELECT id, text, state, exit_code FROM runs WHERE started_ms IS NOT NULL"
        ).fetchall()
    found: dict[str, list[Told]] = {}
    for run_id, text, state, code in rows:
        if "echo begun " in text:
            token = text.split("echo begun ")[1].split()[0]
            found.setdefault(token, []).append(Told(run_id, state, code, finals[run_id]))
    return found


def judge(cases: list[Case], mark: str, known: dict[str, list[Told]]) -> list[str]:
    """Return every run that ran twice, or whose ending is lost, invented or reported twice."""
    wrote = Counter(mark.splitlines())
    faults = [f"{words}: {times} times" for words, times in wrote.items() if times > 1]
    for case in cases:
        runs = known.get(case.token, [])
        if len(runs) != 1:
            faults.append(f"{case}: {len(runs)} runs")
            continue
        begun, ended = (wrote[f"{word} {case.token}"] for word in ("begun", "ended"))
        faults += [f"{case}: {fault}" for fault in _faults(case, runs[0], begun, ended)]
    return faults


def _faults(case: Case, run: Told, begun: int, ended: int) -> list[str]:
    lies = {
        f"{run.final} final events": run.final != 1,
        f"no ending: {run.state}": run.state not in {"done", "failed"},
        "it is said not to have run": run.state == "failed" and begun > 0,
        "its code is made up": run.code is not None and (run.code != CODE or not ended),
        "its code is lost": run.state == "done" and run.code is None and case.blow not in KILLS,
    }
    return [words for words, holds in lies.items() if holds]


def unnoted(fleet: NodeFleet) -> list[str]:
    """Return the endings that nodes still keep for the gateway."""
    folders = [node.process.home / "node-runs" for node in fleet.nodes]
    return [
        str(path.name)
        for folder in folders
        for path in folder.glob("*.json")
        if not path.name.endswith(".noted.json")
    ]
