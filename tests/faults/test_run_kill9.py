"""Kill the gateway again and again while its runs have families that try to stay.

Each run starts children in sessions of their own, orphans of orphans, all of them deaf to TERM and
HUP and holding the output open. The gateway is killed at a random moment: alone, with its launcher,
or with its supervisors too, when nobody is left to end anything but the next gateway. After each
restart no process of an earlier run may live; at the end each run must have been told one end.

``SAYSO_FULL_FAULTS=1`` goes through 200 cycles instead of 12.
"""

import os
import random
import signal
import subprocess
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bot.client import Client
from core.errors import SaysoError
from core.runner import procfs
from tests.core.runner.runs import marked
from tests.e2e.processes import GatewayProcess, until
from tests.faults.test_kill9 import configure

FULL = bool(os.environ.get("SAYSO_FULL_FAULTS"))
CYCLES = 200 if FULL else 12
SEED = 20261122
RUNS_A_CYCLE = 4

DEAF = "trap '' TERM HUP INT; sleep 600"
FAMILY = f"""#!/bin/sh
echo "$1" >> {{ran}}
trap '' TERM HUP INT
setsid sh -c "{DEAF}" &
(setsid sh -c "(setsid sh -c \\"{DEAF}\\" &) ; {DEAF}" &)
sleep 600
"""
QUICK = '#!/bin/sh\necho "$1" >> {ran}\nexec /bin/true\n'


class Gateway(GatewayProcess):
    """`sayso serve`, asked over its socket whether it is up: quicker than by the CLI."""

    def _answers(self) -> bool:
        assert self.process is not None
        if self.process.poll() is not None:
            raise AssertionError(f"the gateway ended:\n{self.log.read_text()[-3000:]}")
        try:
            with Client(str(self.home / "gateway.sock")) as client:
                client.call("exec.approval.list", {})
        except (SaysoError, OSError):
            return False
        return True

    def family(self) -> tuple[list[int], list[int]]:
        """Return its launchers and their supervisors."""
        assert self.process is not None
        everyone = procfs.processes()
        launchers = [one.pid for one in everyone if one.ppid == self.process.pid]
        return launchers, [one.pid for one in everyone if one.ppid in launchers]


@dataclass
class Ledger:
    """The runs that callers know of: id to key."""

    runs: dict[str, str] = field(default_factory=dict)
    most_alive: int = 0
    left_to_recovery: int = 0


def scripts(folder: Path) -> Path:
    """Write the programs `listed` (a family) and `quick`."""
    folder.mkdir()
    for name, text in (("listed", FAMILY), ("quick", QUICK)):
        path = folder / name
        path.write_text(text.format(ran=folder / "ran"))
        path.chmod(0o755)
    (folder / "ran").touch()
    return folder


def start_runs(gateway: Gateway, commands: Path, ledger: Ledger) -> None:
    """Ask for families and for a short command, and wait for none."""
    with Client(str(gateway.home / "gateway.sock")) as client:
        for number in range(RUNS_A_CYCLE):
            key = f"k{len(ledger.runs)}"
            program = "quick" if number == 0 else "listed"
            wish = {
                "argv": [str(commands / program), key],
                "cwd": str(commands),
                "requestKey": key,
                "wait": False,
            }
            ledger.runs[str(client.call("exec.run", wish)["id"])] = key


def kill(gateway: Gateway, victims: list[int]) -> None:
    """Kill the gateway and others at once."""
    assert gateway.process is not None
    for pid in (gateway.process.pid, *victims):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    gateway.process.wait(10)


def living(ids: list[str]) -> list[int]:
    """Return the processes that carry the mark of any of these runs."""
    marks = {f"SAYSO_RUN={one}".encode() for one in ids}
    return [
        one.pid
        for one in procfs.processes()
        if one.alive and marks.intersection(procfs.environment_of(one.pid).split(b"\0"))
    ]


def cycle(gateway: Gateway, commands: Path, ledger: Ledger, dice: random.Random) -> None:
    """Start runs, kill at a random moment, start again; nothing of them may live then."""
    before = set(ledger.runs)
    start_runs(gateway, commands, ledger)
    new = [one for one in ledger.runs if one not in before]
    time.sleep(dice.uniform(0.0, 0.25))
    launchers, supervisors = gateway.family()
    ledger.most_alive = max(ledger.most_alive, len(living(new)))
    which = dice.randrange(3)
    kill(gateway, [*launchers[: which > 0], *(supervisors if which > 1 else [])])
    if which > 1:
        ledger.left_to_recovery += len(living(new))
    gateway.start()
    until("every process of the runs to be gone", lambda: not living(new), seconds=10)


def ends(client: Client) -> Counter[str]:
    """Return how many final events each run has."""
    found: Counter[str] = Counter()
    seq = 0
    while True:
        wish = {"session": "main", "seq": seq, "limit": 1000}
        batch = client.call("events.drain", wish)["events"]
        if not batch:
            return found
        seq = batch[-1]["seq"]
        for event in batch:
            if event["text"].startswith(("Exec finished", "Exec denied")):
                found[event["text"].split("id=")[1].split(",")[0].rstrip(")")] += 1


def judge(
    told: Counter[str], ran: Counter[str], outcomes: dict[str, str], runs: dict[str, str]
) -> list[str]:
    """Return what is wrong: an end told twice or never, a run that ran twice, or none known."""
    faults = [
        f"{key} was told its end {told[one]} times" for one, key in runs.items() if told[one] != 1
    ]
    faults += [f"{key} ran {ran[key]} times" for key in runs.values() if ran[key] > 1]
    faults += [
        f"{runs[one]} is {status} in the end"
        for one, status in outcomes.items()
        if status not in {"finished", "unknown", "denied"}
    ]
    faults += [
        f"{runs[one]} is finished and ran {ran[runs[one]]} times"
        for one, status in outcomes.items()
        if status == "finished" and ran[runs[one]] != 1
    ]
    return faults


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_no_family_survives_its_gateway(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """After every kill: no orphan once the next gateway is up, and one final event a run."""
    commands, ledger = scripts(tmp_path / "commands"), Ledger()
    home = tmp_path / "home"
    configure(home, commands, None)
    allow(home, commands)
    gateway = Gateway(home)
    dice = random.Random(SEED)
    gateway.start()
    try:
        for _ in range(CYCLES):
            cycle(gateway, commands, ledger, dice)
        with Client(str(home / "gateway.sock")) as client:
            outcomes = {
                one: str(client.call("exec.wait", {"id": one, "timeoutMs": 5000})["status"])
                for one in ledger.runs
            }
            told = ends(client)
    finally:
        gateway.stop()
        orphans = living(list(ledger.runs))
        for pid in orphans:
            os.kill(pid, signal.SIGKILL)
    ran = Counter((commands / "ran").read_text().split())
    faults = judge(told, ran, outcomes, ledger.runs)
    with capsys.disabled():
        counted = Counter(outcomes.values())
        print(
            f"\nkill -9 with families: {CYCLES} cycles, {len(ledger.runs)} runs "
            f"({dict(counted)}), up to {ledger.most_alive} processes at a kill, "
            f"{ledger.left_to_recovery} left to recovery alone, {len(orphans)} orphans, "
            f"{len(faults)} faults"
        )
    assert [] == faults
    assert [] == orphans
    assert counted["unknown"] > CYCLES
    assert ledger.left_to_recovery > 0


def allow(home: Path, commands: Path) -> None:
    """Let policy allow both programs."""
    entries = ", ".join(f'{{"pattern": "{commands / name}"}}' for name in ("listed", "quick"))
    text = f'{{"version": 1, "agents": {{"main": {{"allowlist": [{entries}]}}}}}}'
    (home / "exec-approvals.json").write_text(text)


def test_the_judge_sees_each_fault() -> None:
    """The control: an end told twice or never, a second run and an endless one are all reported."""
    runs = {"a": "k1", "b": "k2", "c": "k3"}
    outcomes = {"a": "finished", "b": "running", "c": "finished"}

    faults = judge(Counter({"a": 2, "b": 1}), Counter({"k1": 2}), outcomes, runs)

    assert faults == [
        "k1 was told its end 2 times",
        "k3 was told its end 0 times",
        "k1 ran 2 times",
        "k2 is running in the end",
        "k1 is finished and ran 2 times",
        "k3 is finished and ran 0 times",
    ]


def test_a_family_survives_where_nobody_ends_it(tmp_path: Path) -> None:
    """The control: killed alone, the head of a family leaves all others alive."""
    commands = scripts(tmp_path / "commands")
    head = subprocess.Popen(
        [commands / "listed", "k"], env={"SAYSO_RUN": "control", "PATH": "/usr/bin:/bin"}
    )
    try:
        until("the family", lambda: len(marked("control")) >= 7, seconds=10)
        head.kill()
        head.wait()
        assert len(marked("control")) >= 6
    finally:
        for pid in marked("control"):
            os.kill(pid, signal.SIGKILL)
