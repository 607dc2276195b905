"""Swap a script between its approval and its opening, repeatedly, at every moment between.

Run as root: ``python -m tests.faults.swaps FOLDER KINDS COUNT GATEWAY_UID RACER_UID [off]`` prints,
by kind, how often the approved content ran, other content ran, nothing ran (JSON). The racer is a
separate process that does what an agent would: it writes the script, asks, and renames another file
over it. ``off`` switches the delivery off: the control.
"""

import asyncio
import concurrent.futures.thread  # before there is another user, who may not read it
import itertools
import json
import os
import shutil
import socket
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from core.errors import PlanDrift, SpawnError
from core.programs.profiles import tables
from core.runner import pool
from core.runner.runner import Runner
from tests.support.runs import Start, new_run, planned, request

UNPROTECTED = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from core.runner.supervisor.pinned_files import open_notifier; "
    "open_notifier.fault = lambda: 'switched off'; "
    "from core.runner.supervisor.launcher import main; main()"
)
"""The launcher's program without the delivery."""


@dataclass(frozen=True)
class Kind:
    """A line, the script that it reads, what other content does, and when it is swapped (ms)."""

    line: str
    name: str
    good: str
    evil: tuple[str, ...]
    latest_ms: float


_SHELL = ("#!/bin/sh\necho evil\n", "#!/bin/echo evil\n")
_PRINTS = ('print("good")\n', ('print("evil")\n',))
_SAYS = ("echo good\n", ("echo evil\n",))
KINDS = {
    "python": Kind("python3 x.py", "x.py", *_PRINTS, 40),
    "sh": Kind("sh x.sh", "x.sh", *_SAYS, 8),
    "hashbang": Kind("./x.sh", "x.sh", "#!/bin/sh\necho good\n", _SHELL, 8),
    "node": Kind("node x.js", "x.js", 'console.log("good")\n', ('console.log("evil")\n',), 60),
    "perl": Kind("perl x.pl", "x.pl", 'print "good\\n";\n', ('print "evil\\n";\n',), 10),
    "elf": Kind("./tool good", "tool", "", _SHELL, 8),
    "dot": Kind("sh -c '. ./x.sh'", "x.sh", *_SAYS, 8),
    "wrapped": Kind("timeout 9 python3 x.py", "x.py", *_PRINTS, 40),
    "late": Kind("sleep 0.02; python3 x.py", "x.py", *_PRINTS, 60),
    "unread": Kind("sleep 0.02; python3 x.py $(true)", "x.py", *_PRINTS, 60),
}


def race(sock: socket.socket, folder: Path) -> None:
    """Write a script on request; rename another over it this many microseconds after a word."""
    other, fresh = folder / "other", folder / "fresh"
    evils = {name: itertools.cycle(kind.evil) for name, kind in KINDS.items()}
    while word := sock.recv(16).decode():
        if word in KINDS:
            kind = KINDS[word]
            script = folder / kind.name
            if kind.good:
                fresh.write_text(kind.good)
            else:
                shutil.copy("/bin/echo", fresh)
            other.write_text(next(evils[word]))
            for path in (fresh, other):
                path.chmod(0o755)
            fresh.rename(script)
        else:
            until = time.perf_counter() + int(word) / 1e6
            while time.perf_counter() < until:
                pass
            other.rename(script)
        sock.send(b"done")


async def one(runner: Runner, sock: socket.socket, folder: Path, name: str, at_us: int) -> str:
    """Have a script written, approved and swapped; return what ran."""
    kind = KINDS[name]
    sock.send(name.encode())
    sock.recv(16)
    plan = planned(request(kind.line, cwd=folder))
    try:
        start = Start(before_claim=lambda: sock.send(b"%d" % at_us))
        text = (await runner.run(new_run(), plan, start)).output.text
    except (PlanDrift, SpawnError):
        text = "nothing"
    sock.recv(16)
    return next((word for word in ("evil", "good") if word in text), "nothing")


async def swaps(
    sock: socket.socket, folder: Path, names: list[str], count: int
) -> dict[str, Counter[str]]:
    """Swap a script of each kind this many times, the moments spread evenly."""
    runner = Runner()
    await runner.start()
    seen: dict[str, Counter[str]] = {name: Counter() for name in names}
    try:
        for name, number in itertools.product(names, range(count)):
            at_us = int(KINDS[name].latest_ms * 1000 * (number * 0.618034 % 1))
            seen[name][await one(runner, sock, folder, name, at_us)] += 1
    finally:
        await runner.stop()
    return seen


def become(uid: int, folder: Path) -> None:
    """Continue as another user, who may not see the folders that Python and this package are in."""
    planned(request("true"))  # imports all that is needed from there
    for path in tables.FOLDER.rglob("*.toml"):
        tables.table(str(path.relative_to(tables.FOLDER).with_suffix("")))
    if uid == os.getuid():
        return
    root = folder / "package"
    shutil.copytree(Path(pool._ROOT) / "core", root / "core", dirs_exist_ok=True)
    pool._ROOT = str(root)
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)
    if not os.access(sys.executable, os.X_OK):
        sys.executable = "/usr/bin/python3"


def main(place: str, names: str, count: str, gateway: str, racer: str, *off: str) -> None:
    """Act as the gateway, and start the racer."""
    assert concurrent.futures.thread.ThreadPoolExecutor is not None
    folder = Path(place)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork() == 0:
        ours.close()
        os.setuid(int(racer))
        race(theirs, folder)
        os._exit(0)
    theirs.close()
    become(int(gateway), folder)
    if off:
        pool.BOOTSTRAP = UNPROTECTED
    print(json.dumps(asyncio.run(swaps(ours, folder, names.split(","), int(count)))))


if __name__ == "__main__":
    main(*sys.argv[1:])
