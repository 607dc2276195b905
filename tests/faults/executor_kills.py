"""Kill sudo, executors, agents and the gateway at random; report what happened to each run.

Run as root where users and processes are the test's own (tests/e2e/executors.sh), after the setup
of docs/how-to/executors.md: ``executor_kills.py CYCLES SEED [PLANT]``. Prints one line of JSON.
"""

import json
import os
import pwd
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bot.client import Client  # noqa: E402 - started by its path
from bot.jobs.executor_recovery import WITHDRAWN  # noqa: E402
from core.errors import SaysoError  # noqa: E402
from core.isolation.client import TERMINATED  # noqa: E402
from tests.faults.executor_gateway import TOKEN  # noqa: E402
from tests.support.waiting import wait_until  # noqa: E402

ANN, ALICE = pwd.getpwnam("ann"), pwd.getpwnam("sayso_alice")
HOME = Path("/home/ann/.sayso")
SOCKET = str(HOME / "gateway.sock")
TOOLS, WORK = Path("/opt/kills"), Path("/srv/work")
RAN = WORK / "ran"
KEY = "sk-canary-9d1f7c5e83b24a60"
KEY_FILE = HOME / "key"
LOG = Path("/home/ann/log")
VICTIMS = ("started", "executor", "agent", "command", "gateway", "all")
"""``all``: the executors together with the gateway, when only the next gateway can clean up."""
ENDED = ("Exec finished", "Exec denied")
SEARCHED = ("/home", "/tmp", "/srv", "/run", "/var/log", "/var/tmp")
CANARIES = (KEY.encode(), TOKEN.encode())
DEAF = "trap '' TERM HUP INT; sleep 600"
FAMILY = f"""#!/bin/sh
echo "$1 $SAYSO_RUN" >> {RAN}
trap '' TERM HUP INT
setsid sh -c "{DEAF}" &
(setsid sh -c "(setsid sh -c \\"{DEAF}\\" &) ; {DEAF}" &)
sleep 600
"""
QUICK = f'#!/bin/sh\necho "$1 $SAYSO_RUN" >> {RAN}\nexec /bin/true\n'


@dataclass
class Seen:
    """What the cycles saw."""

    asked: int = 0
    kills: Counter[str] = field(default_factory=Counter)
    most: int = 0
    looks: int = 0
    contained: int = 0
    orphans: list[str] = field(default_factory=list)
    leaks: set[str] = field(default_factory=set)
    model: list[bool] = field(default_factory=list)


@contextmanager
def model(seen: Seen) -> Iterator[str]:
    """Act as the agents' model; record whether each request had the key."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            seen.model.append(self.headers.get("x-api-key") == KEY)
            self.send_response(200)
            with suppress(OSError):  # its executor was killed
                self.end_headers()
                self.wfile.write(b"an answer")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its base names it
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def prepare(url: str) -> None:
    """Write the programs, the settings, the list and the key."""
    TOOLS.mkdir(exist_ok=True)
    for name, text in (("family", FAMILY), ("quick", QUICK)):
        (TOOLS / name).write_text(text)
        (TOOLS / name).chmod(0o755)
    agent = "#!/usr/bin/python3 -I\n" + (ROOT / "tests/support/acp_agent.py").read_text()
    (TOOLS / "agent").write_text(agent)
    (TOOLS / "agent").chmod(0o755)
    RAN.touch()
    RAN.chmod(0o666)
    runtime = {"command": [str(TOOLS / "agent")], "api": "anthropic", "baseUrl": url}
    allowlist = {"exec": {"security": "allowlist"}}
    config = {
        "tools": {"exec": {"host": "gateway"}},
        "proof": {"every": 3600},
        "execution": {
            "runAsUnixUser": True,
            "users": [{"user": "sayso_alice", "agents": ["coder"]}],
        },
        "approvals": {"exec": {"mode": "targets", "timeout": 600}},
        "channels": {"terminal": {"approvers": [f"uid:{ANN.pw_uid}"]}},
        "agents": {"list": [{"id": "coder", "tools": allowlist, "runtime": runtime}]},
        "secrets": {"keys": [{"service": "anthropic", "file": str(KEY_FILE)}]},
    }
    patterns = [{"pattern": str(TOOLS / name)} for name in ("family", "quick")]
    files = {"config.json5": config, "exec-approvals.json": listed(patterns)}
    HOME.mkdir(mode=0o700, exist_ok=True)
    for name, value in files.items():
        (HOME / name).write_text(json.dumps(value))
    KEY_FILE.write_text(KEY)
    for path in (HOME, *HOME.iterdir()):
        os.chown(path, ANN.pw_uid, ANN.pw_gid)
        path.chmod(0o700 if path == HOME else 0o600)


def listed(patterns: list[dict[str, str]]) -> dict[str, object]:
    """Return an approvals file that allows these for the agent."""
    return {"version": 1, "agents": {"coder": {"allowlist": patterns}}}


class Gateway:
    """ann's gateways, one after the other."""

    def __init__(self) -> None:
        self.pid = 0
        environ = {"HOME": "/home/ann", "PATH": os.environ["PATH"], "USER": "ann"}
        with LOG.open("ab") as log:
            self._forker = subprocess.Popen(
                [sys.executable, "-m", "tests.faults.executor_gateway"],
                cwd=ROOT,
                env=environ,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                user=ANN.pw_uid,
                group=ANN.pw_gid,
                extra_groups=os.getgrouplist("ann", ANN.pw_gid),
            )

    def start(self) -> None:
        """Start one, and wait until it answers."""
        assert self._forker.stdin is not None
        assert self._forker.stdout is not None
        self._forker.stdin.write(b"start\n")
        self._forker.stdin.flush()
        self.pid = int(self._forker.stdout.readline())
        wait_until("the gateway", self._answers, seconds=120)

    def _answers(self) -> bool:
        assert self.lives(), LOG.read_text()[-3000:]
        return ask("exec.approval.list", {"limit": 1}) is not None

    def lives(self) -> bool:
        """Return whether it runs."""
        return Path(f"/proc/{self.pid}").exists()

    def wait(self) -> None:
        """Wait for its end."""
        wait_until("the gateway's end", lambda: not self.lives(), seconds=60)

    def stop(self) -> None:
        """End it as an operator does, and also the process that forks."""
        os.kill(self.pid, signal.SIGTERM)
        self.wait()
        self._forker.communicate()


def as_ann() -> None:
    """Become ann, in a process forked for it."""
    os.setgroups(os.getgrouplist("ann", ANN.pw_gid))
    os.setgid(ANN.pw_gid)
    os.setuid(ANN.pw_uid)


def ask(method: str, params: dict[str, object]) -> "dict[str, object] | None":
    """Call the gateway as ann; return ``None`` if it does not answer."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            as_ann()
            with Client(SOCKET) as client:
                answer = json.dumps(client.call(method, params, timeout=20)).encode()
            with os.fdopen(writing, "wb") as pipe:
                pipe.write(answer)
        except (SaysoError, OSError):
            os._exit(1)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return json.loads(said) if said else None


def begin(seen: Seen) -> int:
    """Ask for a process tree, a short command and a prompt at once; return the asking process."""
    keys = [f"k{seen.asked + number}" for number in range(3)]
    seen.asked += 3
    child = os.fork()
    if child:
        return child
    as_ann()
    run = {"agent": "coder", "cwd": str(WORK)}
    prompt = {**run, "prompt": f"stay {RAN} {keys[2]}"}
    calls = [
        ("exec.run", {**run, "argv": [str(TOOLS / name), key], "requestKey": key})
        for name, key in zip(("family", "quick"), keys, strict=False)
    ]
    threads = [threading.Thread(target=wait_for, args=one) for one in calls]
    threads.append(threading.Thread(target=wait_for, args=("agent.prompt", prompt)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    os._exit(0)


def wait_for(method: str, params: dict[str, object]) -> None:
    """Ask, and wait for an answer that may never come."""
    with suppress(SaysoError, OSError), Client(SOCKET) as client:
        client.call(method, params)


def numbers() -> list[int]:
    """Return the ids of all processes."""
    return [int(one.name) for one in Path("/proc").iterdir() if one.name.isdigit()]


def others() -> dict[int, bytes]:
    """Return alice's processes, by id, with their command lines."""
    found = {}
    for pid in numbers():
        with suppress(OSError, IndexError):
            status = Path(f"/proc/{pid}/status").read_text()
            uids = status.partition("\nUid:")[2].split()
            if int(uids[0]) == ALICE.pw_uid and "\nState:\tZ" not in status:
                found[pid] = command_line(pid)
    return found


def contained(pids: Iterable[int]) -> int:
    """Return how many of these run in a cgroup that the gateway made."""
    found = 0
    for pid in pids:
        with suppress(OSError):
            group = Path(f"/proc/{pid}/cgroup").read_text().rpartition("0::")[2]
            found += "/sayso-" in group.partition("/sayso-e2e-")[2]
    return found


def own_group() -> str:
    """Return the cgroup of this process, from the top of the hierarchy."""
    return Path("/proc/self/cgroup").read_text().rpartition("0::/")[2].strip()


def groups() -> list[str]:
    """Return the cgroups that are left below our own."""
    return [str(one) for one in Path("/mnt/cgroups", own_group()).glob("sayso-[0-9]*")]


def victims(kind: str, gateway: Gateway, dice: random.Random) -> list[int]:
    """Return the processes that a kill of this kind hits now; possibly none."""
    own = gateway.pid
    alices = others()
    executors = [pid for pid, words in alices.items() if b"sayso-executor" in words]
    agents = [pid for pid, words in alices.items() if str(TOOLS / "agent").encode() in words]
    started = [pid for pid in children(own) if pid in alices or b"sudo" in command_line(pid)]
    match kind:
        case "gateway":
            return [own]
        case "all":
            return [*executors, own]
        case "started":
            found = started
        case "executor":
            found = executors
        case "agent":
            found = agents
        case _:
            found = [pid for pid in alices if pid not in {*executors, *agents}]
    return [dice.choice(found)] if found else []


def children(pid: int) -> list[int]:
    """Return the children of a process."""
    with suppress(OSError):
        return [
            int(one)
            for task in Path(f"/proc/{pid}/task").iterdir()
            for one in (task / "children").read_text().split()
        ]
    return []


def command_line(pid: int) -> bytes:
    """Return a command line, empty if the process is gone."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def look(seen: Seen, over: threading.Event) -> None:
    """Search each process's arguments and environment for what must not appear, again and again."""
    own = os.getpid()
    while not over.wait(0.1):
        seen.looks += 1
        for pid in numbers():
            for part in ("cmdline", "environ"):
                with suppress(OSError):
                    text = b"" if pid == own else Path(f"/proc/{pid}/{part}").read_bytes()
                    seen.leaks |= {f"{part} of {text[:80]!r}" for one in CANARIES if one in text}


def cycle(gateway: Gateway, seen: Seen, dice: random.Random, plant: str) -> None:
    """Begin, kill at a random moment, end the rest; nothing of it may then be alive."""
    asking = begin(seen)
    time.sleep(dice.uniform(0.0, 0.7))
    kind = dice.choice(VICTIMS)
    hit = victims(kind, gateway, dice)
    alices = others()
    seen.most = max(seen.most, len(alices))
    seen.contained += contained(alices)
    for pid in hit:
        if kind == "all":
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)  # so that none ends the others first
    for pid in reversed(hit):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    seen.kills[kind if hit else "nobody"] += 1
    if kind in {"gateway", "all"}:
        gateway.wait()
    if plant == "orphan":
        subprocess.Popen(["sleep", "600"], user=ALICE.pw_uid, start_new_session=True)
    if not gateway.lives():
        gateway.start()
    end_rest()
    os.kill(asking, signal.SIGKILL)
    os.waitpid(asking, 0)


def end_rest() -> None:
    """Cancel what runs, and wait until alice has no process."""

    def gone() -> bool:
        for run_id in ran().values():
            ask("exec.cancel", {"id": run_id})
        return not others()

    with suppress(AssertionError):
        wait_until("the end of all that runs as alice", gone, seconds=60, pause=0.1)


def ran() -> dict[str, str]:
    """Return the last runs that have begun, by their key."""
    lines = [line.split() for line in RAN.read_text().splitlines()[-6:]]
    return {line[0]: line[1] for line in lines}


def finals() -> Counter[str]:
    """Return how many final events each run has."""
    found: Counter[str] = Counter()
    seq = 0
    while True:
        batch = ask("events.drain", {"session": "main", "seq": seq, "limit": 1000})
        events = batch["events"] if batch else []
        if not isinstance(events, list) or not events:
            return found
        seq = events[-1]["seq"]
        for one in events:
            if one["text"].startswith(ENDED):
                found[one["text"].split("id=")[1].split(",")[0].rstrip(")")] += 1


def files_with(canaries: tuple[bytes, ...]) -> list[str]:
    """Return the files that contain one of them, except the file that the key comes from."""
    found = []
    for top in SEARCHED:
        for folder, _, names in os.walk(top):
            for name in names:
                path = Path(folder, name)
                if path == KEY_FILE or not path.is_file() or path.is_symlink():
                    continue
                text = path.read_bytes()
                if any(one in text for one in canaries):
                    found.append(str(path))
    return found


def report(seen: Seen) -> dict[str, object]:
    """Return what happened to each run."""
    lines = [line.split() for line in RAN.read_text().splitlines()]
    times = Counter(run_id for _, run_id in lines)
    keys = Counter(key for key, _ in lines)
    told = finals()
    outcomes = {}
    for run_id in {*times, *told}:
        answer = ask("exec.wait", {"id": run_id, "timeoutMs": 5000}) or {}
        outcomes[run_id] = (str(answer.get("status")), TERMINATED in json.dumps(answer))
    waiting = (ask("exec.approval.list", {"limit": 10}) or {})["pending"]
    assert isinstance(waiting, list)
    return {
        "cycles": sum(seen.kills.values()),
        "asked": seen.asked,
        "kills": dict(seen.kills),
        "most": seen.most,
        "looks": seen.looks,
        "contained": seen.contained,
        "model": [sum(seen.model), len(seen.model)],
        "begun": len(times),
        "outcomes": dict(Counter(how for how, _ in outcomes.values())),
        "terminated": sum(said for _, said in outcomes.values()),
        "orphans": seen.orphans,
        "twice": [one for one, count in (times + Counter()).items() if count > 1]
        + [one for one, count in keys.items() if count > 1],
        "lost": [one for one in outcomes if told[one] != 1]
        + [
            one
            for one, (how, _) in outcomes.items()
            if how not in {"finished", "unknown", "denied"}
        ],
        "waiting": [str(one["command"]) for one in waiting],
        "leaks": sorted(seen.leaks),
    }


def withdrawn() -> int:
    """Return how many questions were withdrawn because their agent's gateway had ended."""
    with sqlite3.connect(HOME / "state.db") as store:
        row = store.execute("SELECT count(*) FROM decisions WHERE note = ?", (WITHDRAWN,))
        return int(row.fetchone()[0])


def planted(plant: str) -> None:
    """Do what the test must find (the negative controls)."""
    if plant == "second":
        quick = {"argv": [str(TOOLS / "quick"), "once"], "requestKey": "once"}
        ask("exec.run", {"agent": "coder", "cwd": str(WORK), **quick})  # the kill may come too soon
        RAN.write_text(RAN.read_text() + RAN.read_text().splitlines()[0] + "\n")
    elif plant == "leak":
        (WORK / "leak").write_text(f"key={KEY}")
    elif plant == "argv":
        subprocess.Popen(["/bin/sh", "-c", f"sleep 1; : {TOKEN}x"])
    elif plant == "question":
        asked = ask(
            "exec.run", {"agent": "coder", "argv": ["touch", "x"], "cwd": str(WORK), "wait": False}
        )
        assert asked, "nobody answered"
    elif plant == "group":
        Path("/mnt/cgroups", own_group(), "sayso-1-1-1-0").mkdir()


def main() -> None:
    """Run the cycles."""
    cycles, seed, plant = int(sys.argv[1]), int(sys.argv[2]), (*sys.argv[3:], "")[0]
    seen, gateway, dice = Seen(), Gateway(), random.Random(seed)
    over = threading.Event()
    with model(seen) as url:
        prepare(url)
        gateway.start()
        looking = threading.Thread(target=look, args=(seen, over), daemon=True)
        looking.start()
        for _ in range(cycles):
            cycle(gateway, seen, dice, plant)
            left = others()
            seen.orphans += [f"{pid} {words[:60]!r}" for pid, words in left.items()]
            for pid in left:
                os.kill(pid, signal.SIGKILL)
        planted(plant)
        found = report(seen)
        time.sleep(0.5 if plant == "argv" else 0)
        gateway.stop()
        over.set()
        looking.join()
    found |= {"leaks": sorted(seen.leaks), "files": files_with(CANARIES), "withdrawn": withdrawn()}
    found["groups"] = groups()
    found["log"] = [line for line in LOG.read_text().splitlines() if "Traceback" in line]
    print(json.dumps(found))


if __name__ == "__main__":
    main()
