"""Change a script through a memory mapping, which changes none of its times.

Run as root: ``python -m tests.faults.mapped_writes FOLDER GATEWAY_UID WRITER_UID [off]`` prints
what each line printed, or ``nothing`` (JSON). The writer is a separate process: the scripts are its
own, it has them mapped, and writes other content when the plan is made, or when the first command
runs. ``off`` lets a file's identity prove its content, as if no one could map it: the control.
"""

import asyncio
import concurrent.futures.thread  # before there is another user, who may not read it
import json
import mmap
import os
import shutil
import socket
import sys
from pathlib import Path

from core.errors import PlanDrift, SpawnError
from core.planning.paths import pins
from core.runner import pool
from core.runner.runner import Runner
from tests.faults.swaps import become
from tests.support.runs import Start, new_run, planned, request, script
from tests.support.waiting import until

UNPROTECTED = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from core.files.file_identity import identity; "
    "from core.runner.supervisor import spawn; "
    "from core.runner.supervisor.pinned_files.bound_file import Bound; "
    "spawn.others_may_write = lambda status: False; spawn.is_settled = lambda status: True; "
    "Bound.has = lambda self, sha256: True; "
    "unchanged = lambda self, fd, status: identity(status) == identity(self._status); "
    "Bound._is_unchanged = unchanged; "
    "from core.runner.supervisor.launcher import main; main()"
)
"""The launcher's program without the checks of content."""

WAIT = "#!/bin/sh\ntouch ready\nwhile ! [ -e go ]; do sleep 0.01; done\n"
TEXTS = {
    "x.py": 'print("good")\n',
    "x.sh": "#!/bin/sh\necho good\n",
    "late.sh": "echo good\n",
    "x.pl": 'print "good\\n";\n',
}
LINES = {
    "python3 x.py": "x.py",
    "sh x.sh": "x.sh",
    "./x.sh": "x.sh",
    "perl x.pl": "x.pl",
    "timeout 9 python3 x.py": "x.py",
    "sh -c '. ./x.sh'": "x.sh",
    "./tool Written by": "tool",
}
LATE = "./wait $(true); sh late.sh"


def write(sock: socket.socket, folder: Path) -> None:
    """Make a file on request, with a mapping of it; write through that, and unmap it.

    The late one is mapped only then.
    """
    while name := sock.recv(64).decode():
        path, was = folder / name, "good" if name in TEXTS else "Written by"
        path.unlink(missing_ok=True)
        if name in TEXTS:
            path.write_text(TEXTS[name])
        else:
            shutil.copy("/bin/echo", path)
        path.chmod(0o755)
        if name == "late.sh":
            sock.send(b"made")
            sock.recv(64)
        with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
            at = memory.find(was.encode())
            memory[at : at + 1] = memory[at : at + 1]
            if name != "late.sh":
                sock.send(b"made")
                sock.recv(64)
            memory[at : at + 4] = b"evil"
        sock.send(b"done")


async def one(runner: Runner, sock: socket.socket, line: str, name: str, folder: Path) -> str:
    """Have a file made, approved and written to; return what ran."""
    sock.send(name.encode())
    sock.recv(64)
    await asyncio.sleep(2 * pins._SETTLED_NS / 1e9)
    plan = planned(request(line, cwd=folder, timeout_ms=60_000))

    def change() -> None:
        sock.send(b"write")
        sock.recv(64)

    late = line == LATE
    start = Start() if late else Start(before_claim=change)
    task = asyncio.ensure_future(runner.run(new_run(), plan, start))
    if late:
        await until((folder / "ready").exists)
        change()
        (folder / "go").touch()
    try:
        return (await task).output.text.strip()
    except (PlanDrift, SpawnError):
        return "nothing"


async def runs(sock: socket.socket, folder: Path) -> dict[str, str]:
    """Run each line."""
    script(folder / "wait", WAIT)
    runner = Runner()
    await runner.start()
    try:
        return {
            line: await one(runner, sock, line, name, folder)
            for line, name in {**LINES, LATE: "late.sh"}.items()
        }
    finally:
        await runner.stop()


def main(place: str, gateway: str, writer: str, *off: str) -> None:
    """Act as the gateway, and start the writer."""
    assert concurrent.futures.thread.ThreadPoolExecutor is not None
    folder = Path(place)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork() == 0:
        ours.close()
        os.setuid(int(writer))
        write(theirs, folder)
        os._exit(0)
    theirs.close()
    become(int(gateway), folder)
    if off:
        pool.BOOTSTRAP = UNPROTECTED
    print(json.dumps(asyncio.run(runs(ours, folder))))


if __name__ == "__main__":
    main(*sys.argv[1:])
