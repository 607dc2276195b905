"""Attack sockets from a sandbox."""

import asyncio
import contextlib
import json
import re
import secrets
import shutil
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.faults import sandbox_attacks as attacks
from tests.faults.sandbox_escapes import vector
from tests.support.sandbox import HomeBeside
from tests.support.waiting import until

_FROM_LISTED_TO_HIDDEN = 5
"""Seconds; it takes ten milliseconds where six tests share two cores."""

KINDS = (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET)


@pytest.fixture
def visible() -> Iterator[Path]:
    """Yield a folder that every sandbox sees, and that every user may enter.

    A sandbox of another test, which lists this machine's sockets and then hides them, must find
    them until it has: they stay a while after they are closed, which takes them off the list.
    """
    folder = Path(f"/opt/sayso-{secrets.token_hex(4)}")
    folder.mkdir()
    try:
        yield folder
    finally:
        time.sleep(_FROM_LISTED_TO_HIDDEN)
        shutil.rmtree(folder)


@dataclass(frozen=True)
class Attacked:
    """The sockets' names, what was tried and reached, and how many received something."""

    names: set[str]
    tried: list[str]
    reached: set[str]
    heard: int


async def attacked(house: HomeBeside, visible: Path, *, inside: bool) -> Attacked:
    """Attack sockets, half of which are already bound when the command runs."""
    mark = secrets.token_hex(4)
    (visible / mark).mkdir()
    workspace = house.workspace / mark
    workspace.mkdir()
    ready, go = workspace / "ready", workspace / "go"
    attack = vector(attacks.REACHES_UNIX_SOCKETS, READY=str(ready), GO=str(go))
    with contextlib.ExitStack() as stack:
        services = Services(stack)
        services.bind_everywhere("before", workspace, visible / mark)
        run = house.run if inside else house.run_outside
        task = asyncio.create_task(run(attack))
        await until(ready.exists)
        services.bind_everywhere("during", workspace, visible / mark)
        (workspace / "targets").write_text(json.dumps(services.targets))
        (workspace / "targets").rename(go)
        text = (await task).output.text
        tried, reached = (re.findall(f"{word} (.*)", text) for word in ("TRIED", "ESCAPED"))
        assert len(tried) >= 16 * len(services.names), text
        return Attacked(services.names, tried, set(reached), services.heard())


class Services:
    """Sockets that listen on this machine, by what was done with them."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        self._stack = stack
        self._bound: list[socket.socket] = []
        self.targets: list[tuple[str, int, str]] = []

    @property
    def names(self) -> set[str]:
        """Return the names of all of them."""
        return {name for name, _, _ in self.targets}

    def bind(self, name: str, address: str, *, seen_as: str = "") -> None:
        """Bind one of each kind; ``seen_as`` is the address to attack, if it differs."""
        for kind in KINDS:
            one = self._stack.enter_context(socket.socket(socket.AF_UNIX, kind))
            one.bind(f"{address}{kind:d}")
            one.setblocking(False)
            if kind != socket.SOCK_DGRAM:
                one.listen(64)
            self._bound.append(one)
            self.targets.append((name, int(kind), f"{seen_as or address}{kind:d}"))

    def bind_everywhere(self, when: str, workspace: Path, visible: Path) -> None:
        """Bind some in the workspace, in a visible folder, and in the abstract namespace."""
        self.bind(f"workspace {when}", str(workspace / f"{when}-"))
        self.bind(f"visible {when}", str(visible / f"{when}-"))
        with contextlib.chdir(visible):
            self.bind(f"relative {when}", f"{when}-r", seen_as=str(visible / f"{when}-r"))
        self.bind(f"renamed {when}", str(visible / f"{when}-old"), seen_as=str(visible / when))
        for kind in KINDS:
            (visible / f"{when}-old{kind:d}").rename(visible / f"{when}{kind:d}")
        self.bind(f"abstract {when}", f"\0sayso-{secrets.token_hex(8)}")

    def heard(self) -> int:
        """Return how many of them were connected to, or received something."""
        return sum(1 for one in self._bound if _heard(one))


def _heard(one: socket.socket) -> bool:
    try:
        if one.type == socket.SOCK_DGRAM:
            return bool(one.recv(1))
        one.accept()[0].close()
    except BlockingIOError:
        return False
    return True
