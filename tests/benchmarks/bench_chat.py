"""x"""

import json
import sys
import statistics
import time
from contextlib import ExitStack
from pathlib import Path

from tests.benchmarks.chat_programs import Json, Program, program


def configure(home: Path, hellos: dict[str, Json], targets=(), **exec_) -> None:
    keys = {"slack": {}, "telegram": {"pollTimeout": 5}, "discord": {}}
    config = {
        "tools": {"exec": {"host": "gateway", "security": "allowlist"}},
        "approvals": {"exec": {"mode": "session", **exec_}},
        "channels": {
            name: {
                **hello["tokens"],
                "apiBaseUrl": hello["url"],
                "approvers": [str(hello["person"])],
                **keys[name],
            }
            for name, hello in hellos.items()
        },
    }
    home.mkdir(mode=0o700, exist_ok=True)
    (home / "config.json5").write_text(json.dumps(config))
    (home / "config.json5").chmod(0o600)


def wait_open(platform: Program, count: int) -> None:
    end = time.monotonic() + 60
    while platform.ask("open") < count:
        assert time.monotonic() < end
        time.sleep(0.05)


def ours(name, platform, home, count, pause, log):
    with program("chat_gateway", str(home), log=log) as gate:
        gate.ask("post", count=count, places=[f"{name}:{one}" for one in platform.hello["places"]])
        wait_open(platform, count)
        time.sleep(0.3)
        gate.ask("notes")
        pressed = platform.ask("press", count=count, pause=pause)
        notes = [(at, note) for at, note in gate.ask("notes")]
        commits = [min(at for at, note in notes if note.startswith("approval:") and at > t0) for t0, _ in pressed]
        return [(c - t0, e - t0) for (t0, e), c in zip(pressed, commits)]


def bare(name, platform, count, pause, log, row=""):
    with program("chat_bare", name, json.dumps(platform.hello), *([row] if row else []), log=log) as bot:
        bot.ask("post", count=count)
        wait_open(platform, count)
        time.sleep(0.3)
        pressed = platform.ask("press", count=count, pause=pause)
        return [(e - t0, e - t0) for t0, e in pressed]

def show(name, xs):
    xs=[x*1000 for x in xs]
    xs.sort()
    print(f"{name:40} p50 {statistics.median(xs):7.2f} p99 {xs[int(len(xs)*.99)]:7.2f} min {xs[0]:7.2f}")

if __name__ == "__main__":
    import tempfile
    for name in sys.argv[1:] or ("slack","telegram","discord"):
        tmp = Path(tempfile.mkdtemp(dir="/tmp"))
        log = tmp/"log"
        print(name, tmp)
        with program("chat_platform", name, log=log) as platform:
            platform.ask("unlimited")
            configure(tmp/"home", {name: platform.hello})
            o, b, f = [], [], []
            count = 10 if name == "slack" else 30
            for phase in range(3):
                o += ours(name, platform, tmp/"home", count, 0.1, log)[2:]
                b += bare(name, platform, count, 0.1, log)[2:]
                f += bare(name, platform, count, 0.1, log, str(tmp/"rows.db"))[2:]
            show("ours commit", [x[0] for x in o])
            show("ours edited", [x[1] for x in o])
            show("bare edited", [x[1] for x in b])
            show("bare+row edited", [x[1] for x in f])
