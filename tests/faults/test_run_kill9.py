"""Kill the gateway repeatedly while its runs have process trees that try to stay.

Each run starts children in sessions of their own, orphans of orphans, all of them deaf to TERM and
HUP and holding the output open. The gateway is killed at a random moment: alone, with its launcher,
or with its supervisors too, when only the next gateway is left to end anything. After each restart
no process of an earlier run may live; at the end each run must have reported one end, and none of
those processes may have written a traceback to the gateway's log.

``SAYSO_FULL_FAULTS=1`` goes through 200 cycles instead of 6.
"""

import os
import random
import signal
import subprocess
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.client import Client
from core.errors import SaysoError
from core.runner.supervisor.processes import procfs
from tests.faults.killed_gateway import configure
from tests.support.gateway_process import GatewayProcess
from tests.support.runs import marked
from tests.support.waiting import wait_until

FULL = bool(os.environ.get("SAYSO_FULL_FAULTS"))
CYCLES = 200 if FULL else 6
SEED = 20261122
RUNS_A_CYCLE = 4
ENDS = {"finished", "unknown", "denied"}

DEAF = "trap '' TERM HUP INT; sleep 600"
FAMILY = f"""#!/bin/sh
echo "$1 $SAYSO_RUN" >> {{ran}}
trap '' TERM HUP INT
setsid sh -c "{DEAF}" &
(setsid sh -c "(setsid sh -c \\"{DEAF}\\" &) ; {DEAF}" &)
sleep 600
"""
QUICK = '#!/bin/sh\necho "$1 $SAYSO_RUN" >> {ran}\nexec /bin/true\n'


class Gateway(GatewayProcess):
    """`sayso serve`, asked over its socket whether it is up: quicker than with the CLI."""

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
class Seen:
    """What the cycles saw: requests, the most processes at a kill, and what was left then."""

    asked: int = 0
    most_alive: int = 0
    left_to_recovery: int = 0


def scripts(folder: Path) -> Path:
    """Write the programs `listed` (a process tree) and `quick`."""
    folder.mkdir()
    for name, text in (("listed", FAMILY), ("quick", QUICK)):
        path = folder / name
        path.write_text(text.format(ran=folder / "ran"))
        path.chmod(0o755)
    (folder / "ran").touch()
    return folder


def ask(socket: str, wish: dict[str, object]) -> None:
    """Ask for a run; the answer never comes when the gateway is killed."""
    with suppress(SaysoError, OSError), Client(socket) as client:
        client.call("exec.run", wish)


def start_runs(gateway: Gateway, commands: Path, seen: Seen) -> list[threading.Thread]:
    """Ask for process trees and for a short command, all at once."""
    threads = []
    for number in range(RUNS_A_CYCLE):
        seen.asked += 1
        key = f"k{seen.asked}"
        program = "listed" if number else "quick"
        argv = [str(commands / program), key]
        wish = {"argv": argv, "cwd": str(commands), "requestKey": key}
        socket = str(gateway.home / "gateway.sock")
        threads.append(threading.Thread(target=ask, args=(socket, wish)))
        threads[-1].start()
    return threads


def kill(gateway: Gateway, victims: list[int]) -> None:
    """Kill the gateway and others at once."""
    assert gateway.process is not None
    for pid in (gateway.process.pid, *victims):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    gateway.process.wait(10)


def living(commands: Path) -> list[int]:
    """Return the living processes that are in the runs' folder, including supervisors."""
    found = []
    for one in procfs.processes():
        with suppress(OSError):
            if one.alive and os.readlink(f"/proc/{one.pid}/cwd") == str(commands):  # noqa: PTH115 - as text
                found.append(one.pid)
    return found


def cycle(gateway: Gateway, commands: Path, seen: Seen, dice: random.Random) -> None:
    """Start runs, kill at a random moment, start again; none of them may then be alive."""
    threads = start_runs(gateway, commands, seen)
    time.sleep(dice.uniform(0.0, 0.25))
    which = dice.randrange(3)
    if which > 1:  # on a loaded machine nothing that could be left over may have started
        wait_until("a run that is killed with its supervisor", lambda: living(commands))
    launchers, supervisors = gateway.family()
    seen.most_alive = max(seen.most_alive, len(living(commands)))
    kill(gateway, [*launchers[: which > 0], *(supervisors if which > 1 else [])])
    if which > 1:
        seen.left_to_recovery += len(living(commands))
    for thread in threads:
        thread.join(10)
    gateway.start()
    wait_until("every process of the runs to be gone", lambda: not living(commands), seconds=10)


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


def judge(told: Counter[str], ran: Counter[str], outcomes: dict[str, str]) -> list[str]:
    """Return what is wrong: an end reported twice or never, a run that ran twice or has no end."""
    faults = [f"{one} was told its end {told[one]} times" for one in outcomes if told[one] != 1]
    faults += [f"{one} ran {count} times" for one, count in ran.items() if count > 1]
    faults += [f"{one} is {how}" for one, how in outcomes.items() if how not in ENDS]
    faults += [
        f"{one} is finished and did not run"
        for one, how in outcomes.items()
        if how == "finished" and not ran[one]
    ]
    return faults


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_no_family_survives_its_gateway(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """After every kill: no orphan once the next gateway is up, and one final event per run."""
    commands, seen = scripts(tmp_path / "commands"), Seen()
    home = tmp_path / "home"
    configure(home, commands, None)
    allow(home, commands)
    gateway = Gateway(home)
    dice = random.Random(SEED)
    gateway.start()
    try:
        for _ in range(CYCLES):
            cycle(gateway, commands, seen, dice)
        ran = Counter(line.split()[1] for line in (commands / "ran").read_text().splitlines())
        with Client(str(home / "gateway.sock")) as client:
            told = ends(client)
            outcomes = {
                one: str(client.call("exec.wait", {"id": one, "timeoutMs": 5000})["status"])
                for one in {*ran, *told}
            }
    finally:
        gateway.stop()
        orphans = living(commands)
        for pid in orphans:
            os.kill(pid, signal.SIGKILL)
    faults = judge(told, ran, outcomes)
    counted = Counter(outcomes.values())
    with capsys.disabled():
        print(
            f"\nkill -9 with families: {CYCLES} cycles, {seen.asked} requests, "
            f"{len(outcomes)} runs ({dict(counted)}), up to {seen.most_alive} processes at a kill, "
            f"{seen.left_to_recovery} left to recovery alone, {len(orphans)} orphans, "
            f"{len(faults)} faults"
        )
    assert [] == faults
    assert [] == orphans
    log = gateway.log.read_text()
    assert "Traceback" not in log, log
    assert "is replaced" not in log, log
    assert counted["unknown"] >= CYCLES // 2
    assert seen.left_to_recovery > 0


def allow(home: Path, commands: Path) -> None:
    """Let policy allow both programs."""
    entries = ", ".join(f'{{"pattern": "{commands / name}"}}' for name in ("listed", "quick"))
    text = f'{{"version": 1, "agents": {{"main": {{"allowlist": [{entries}]}}}}}}'
    (home / "exec-approvals.json").write_text(text)


def test_the_judge_sees_each_fault() -> None:
    """The control: an end reported twice or never, a second run and an endless one are found."""
    outcomes = {"a": "finished", "b": "running", "c": "finished"}

    faults = judge(Counter({"a": 2, "b": 1}), Counter({"a": 2}), outcomes)

    assert faults == [
        "a was told its end 2 times",
        "c was told its end 0 times",
        "a ran 2 times",
        "b is running",
        "c is finished and did not run",
    ]


def test_a_family_survives_where_nobody_ends_it(tmp_path: Path) -> None:
    """The control: killed alone, the root of a process tree leaves all others alive."""
    commands = scripts(tmp_path / "commands")
    head = subprocess.Popen(
        [commands / "listed", "k"], env={"SAYSO_RUN": "control", "PATH": "/usr/bin:/bin"}
    )
    try:
        wait_until("the family", lambda: len(marked("control")) >= 7, seconds=10)
        head.kill()
        head.wait()
        assert len(marked("control")) >= 6
    finally:
        for pid in marked("control"):
            os.kill(pid, signal.SIGKILL)
