"""Kill and reap children that are not spared, however they hide."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[5]
KILLING = """
import json, os, signal, sys, time
sys.path.append(sys.argv[1])
from core.runner.supervisor.processes import procfs, reaper

def child(alone):
    pid = os.fork()
    if pid == 0:
        if alone:
            os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(60)
        os._exit(0)
    return pid

spared, grouped, away = child(True), child(False), child(True)
while any(os.getsid(pid) != pid for pid in (spared, away)):
    time.sleep(0.01)
began = time.monotonic()
ended = reaper.kill_all({spared}, 20.0)
took = time.monotonic() - began
alive = procfs.own_children()
os.kill(spared, signal.SIGKILL)
print(json.dumps({
    "ended": sorted(ended.items()) == sorted((pid, signal.SIGKILL) for pid in (grouped, away)),
    "left": list(alive) == [spared],
    "quick": took < 15.0,
    "none": reaper.kill_all(set(), 20.0) == {spared: signal.SIGKILL},
}))
"""


def test_all_but_the_spared_are_killed_and_their_ends_are_known() -> None:
    """In the own group and in one of their own; a spared one is not waited for."""
    said = subprocess.run(
        [sys.executable, "-I", "-S", "-c", KILLING, str(ROOT)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    assert set(json.loads(said.stdout).values()) == {True}, said.stdout
