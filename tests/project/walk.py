"""Count the modules that a request and a press enter: ``python -m tests.project.walk``.

A gateway and a client run with a profile function. Before the request the gateway is watched for as
long while idle: what it enters then is its background work, and is left out. The supervisor's own
process is not watched; its modules are those of its folder.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from itertools import groupby, pairwise
from pathlib import Path
from types import FrameType

from tests.support.gateway_process import ROOT, GatewayProcess, write_config
from tests.support.platform_processes import PLACES, Chat, Place, chats, configure, remember
from tests.support.prompt_copies import Copy
from tests.support.waiting import wait_until

OUT = "SAYSO_WALK"
IDLE_S, SETTLE_S = 12.0, 1.0  # some background work is done every 10 s
REQUEST = ("run", "--agent", "free", "-c", "git status")
JUDGING, BINDING = ("core.policy",), ("core.planning", "core.runner")
SPAWNING = "core.runner.job"


class Walk:
    """The modules of ours that this process enters while it is watched, in order."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.on = False
        self._names: dict[str, str] = {}

    def note(self, frame: FrameType, event: str, _: object) -> None:
        """Record the module of a function that starts; the profile function of every thread."""
        if event != "call" or not self.on:
            return
        file = frame.f_code.co_filename
        name = self._names.get(file)
        if name is None:
            name = self._names[file] = _module(file)
        if name and (not self.calls or self.calls[-1] != name):
            self.calls.append(name)

    def start(self) -> None:
        """Start watching: this thread, and those started since the import."""
        self.on = True
        sys.setprofile(self.note)


def _module(file: str) -> str:
    path = Path(file)
    if not path.is_relative_to(ROOT):
        return ""
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    return name if name.startswith(("bot.", "channels.", "core.")) else ""


def watched(words: list[str]) -> None:
    """Run ``sayso`` with these words; each SIGUSR1 writes what was seen since the last one."""
    walk = Walk()
    threading.setprofile(walk.note)
    folder = Path(os.environ[OUT])

    def write(*_: object) -> None:
        calls, walk.calls = walk.calls, []
        walk.start()
        target = folder / f"{len(list(folder.glob('*.json')))}.json"
        target.with_suffix(".new").write_text(json.dumps(calls))
        target.with_suffix(".new").rename(target)

    from bot.cli import main  # noqa: PLC0415 - its import is not part of the walk

    signal.signal(signal.SIGUSR1, write)
    if "serve" not in words:
        walk.start()
    sys.argv = ["sayso", *words]
    try:
        main()
    finally:
        sys.setprofile(None)
        write()


def _seen(gateway: GatewayProcess, folder: Path) -> list[str]:
    assert gateway.process is not None
    number = len(list(folder.glob("*.json")))
    gateway.process.send_signal(signal.SIGUSR1)
    path = folder / f"{number}.json"
    wait_until("the gateway's walk", path.exists)
    found: list[str] = json.loads(path.read_text())
    return found


def changes(calls: Iterable[str]) -> int:
    """Return how often control moves between judging and binding before the spawn."""
    sides = []
    for call in calls:
        if call.startswith(SPAWNING):
            break
        if call.startswith((*JUDGING, *BINDING)):
            sides.append(call.startswith(JUDGING))
    return sum(one != other for one, other in pairwise(side for side, _ in groupby(sides)))


def walked(home: Path) -> tuple[list[str], list[str], set[str]]:
    """Return what the client entered, what the gateway entered, and its background work."""
    served, asked = home / "served", home / "asked"
    served.mkdir()
    asked.mkdir()
    os.environ[OUT] = str(served)
    write_config(home, None)
    path = home / "config.json5"
    config = json.loads(path.read_text())
    config["agents"] = {"list": [{"id": "free", "tools": {"exec": {"security": "full"}}}]}
    path.write_text(json.dumps(config))
    gateway = GatewayProcess(home, module="tests.project.walk")
    try:
        gateway.start()
        gateway.cli(*REQUEST)
        _seen(gateway, served)
        time.sleep(IDLE_S)
        idle = set(_seen(gateway, served))
        subprocess.run(
            [sys.executable, "-m", "tests.project.walk", *REQUEST],
            cwd=ROOT,
            env={**gateway.environ(), OUT: str(asked)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            check=True,
        )
        calls = _seen(gateway, served)
    finally:
        gateway.stop()
    return json.loads((asked / "0.json").read_text()), calls, idle


def pressed(home: Path) -> tuple[list[str], set[str]]:
    """Return what the gateway entered from a press in Slack to the end of the run, and when idle.

    This includes watching the run, storing its result, and showing in the prompt how it ended.
    """
    seen = home.with_name(home.name + "-seen")
    seen.mkdir()
    os.environ[OUT] = str(seen)
    with chats("slack") as platforms:
        slack, place = platforms["slack"], PLACES["slack"][0]
        configure(home, platforms, [])
        remember(home, [place])
        gateway = GatewayProcess(home, module="tests.project.walk")
        try:
            gateway.start()
            _asked_and_pressed(gateway, slack, place)
            _seen(gateway, seen)
            time.sleep(IDLE_S)
            idle = set(_seen(gateway, seen))
            calls = _asked_and_pressed(gateway, slack, place, seen)
        finally:
            gateway.stop()
    return calls, idle


def _asked_and_pressed(
    gateway: GatewayProcess, slack: Chat, place: Place, seen: Path | None = None
) -> list[str]:
    """Ask for a command and allow it by a press; return what was entered since the press."""
    before = {copy.id for copy in slack.copies()}
    words = [sys.executable, "-m", "bot", "run", "--session", place.conversation, "-c", "id -u"]
    asking = subprocess.Popen(
        words, cwd=ROOT, env=gateway.environ(), stdin=-3, stdout=-3, stderr=-3
    )

    def prompt() -> Copy | None:
        new = (copy for copy in slack.copies() if copy.id not in before and copy.buttons)
        return next(new, None)

    found: Copy = wait_until("the prompt in Slack", prompt)
    time.sleep(SETTLE_S)
    if seen is not None:
        _seen(gateway, seen)
    slack.press(found, "Allow once")
    assert asking.wait(30) == 0
    time.sleep(SETTLE_S)
    return [] if seen is None else _seen(gateway, seen)


def main() -> None:
    """Print the figures, or be the watched process."""
    if OUT in os.environ:
        watched(sys.argv[1:])
        return
    with tempfile.TemporaryDirectory(prefix="sayso-walk-") as folder:
        client, gateway, idle = walked(Path(folder))
        after_press, idle_in_slack = pressed(Path(folder, "slack"))
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` ends it, as other programs
    supervisor = list((ROOT / "core" / "runner" / "supervisor").rglob("[!_]*.py"))
    entered = set(gateway) - idle
    print(f"sayso {' '.join(REQUEST)}")
    print(f"  client {len(set(client))} modules")
    print(f"  gateway {len(entered)} modules, besides {len(idle)} that it enters while idle")
    print(f"  supervisor {len(supervisor)} modules, not watched")
    print(f"  changes between policy and planning before the spawn: {changes(gateway)}")
    for name in sorted(entered):
        print(f"    {name}")
    entered = set(after_press) - idle_in_slack
    print("a press of `Allow once` in Slack, to the end of the run and of its prompt")
    print(
        f"  gateway {len(entered)} modules, besides {len(idle_in_slack)} that it enters while idle"
    )
    print(f"  changes between policy and planning before the spawn: {changes(after_press)}")
    for name in sorted(entered):
        print(f"    {name}")


if __name__ == "__main__":
    main()
