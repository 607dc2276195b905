"""Reach for Unix sockets of this machine from the sandbox: wherever, however, whenever bound."""

import os
import socket
from pathlib import Path

import pytest

from core.hosts.sandbox.backends.bubblewrap import Bubblewrap
from tests.faults import sandbox_attacks as attacks
from tests.faults.sandbox_escapes import escapes, vector
from tests.faults.sandbox_socket_attacks import KINDS, attacked, visible
from tests.support.runs import Start, new_run
from tests.support.sandbox import PYTHON, bwrap, over, places_for, sandbox

__all__ = ["visible"]
"""Provide a fixture for all tests here."""


@pytest.mark.parametrize("network", [False, True])
async def test_no_socket_of_this_machine_is_reached(
    network: bool, visible: Path, tmp_path: Path
) -> None:
    """Neither by a path nor by an abstract name, with the machine's network or without."""
    async with sandbox(tmp_path, network=network) as house:
        inside = await attacked(house, visible, inside=True)
        outside = await attacked(house, visible, inside=False)

    assert (inside.reached, inside.heard) == (set(), 0)
    assert outside.reached == outside.names == inside.names
    assert outside.heard == len(KINDS) * len(outside.names)


@pytest.mark.parametrize("network", [False, True])
async def test_the_setting_lets_them_be_reached(
    network: bool, visible: Path, tmp_path: Path
) -> None:
    """The control: only what a run's start found by a full path is covered."""
    async with sandbox(tmp_path, network=network, unix_sockets=True) as house:
        found = await attacked(house, visible, inside=True)

    abstract = {name for name in found.names if name.startswith("abstract")}
    assert found.reached == found.names - {"visible before"} - (set() if network else abstract)


async def test_other_numbers_make_no_socket(visible: Path, tmp_path: Path) -> None:
    """socketcall(2) of 32-bit programs ends the process before it makes anything."""
    address = str(visible / "s")
    with socket.socket(socket.AF_UNIX) as service:
        service.bind(address)
        service.listen()
        async with sandbox(tmp_path) as house:
            attack = vector(attacks.REACHES_A_SOCKET_BY_OLD_NUMBERS, SOCKET=address)
            inside = await house.run(attack)
            outside = await house.run_outside(attack)

    assert (inside.exit_code, "ESCAPED" in inside.output.text) == (159, False)  # 128 + SIGSYS
    # If the kernel has no 32-bit calls, nothing can be reached.
    assert "ESCAPED" in outside.output.text or outside.exit_code in {0, 159}


async def test_no_socket_is_handed_to_a_command(tmp_path: Path) -> None:
    """A process that has one made by another can be handed more through it."""
    async with sandbox(tmp_path) as house:
        found = await escapes(house, attacks.HAS_FOREIGN_SOCKETS)

    assert found == (False, True)


@pytest.mark.parametrize("landlock", [True, False], ids=["landlock", "control"])
async def test_landlock_keeps_from_pipes_as_well(
    landlock: bool, visible: Path, tmp_path: Path
) -> None:
    """A visible pipe is not a socket: without Landlock it can be written to, as documented."""
    os.mkfifo(visible / "pipe", 0o666)
    end = os.open(visible / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        async with sandbox(tmp_path) as house:
            backend = Bubblewrap(bwrap(), places_for(house.home), network=False, landlock=landlock)
            async with over(house.runner, backend, house.home) as host:
                plan = house.plan(("/bin/sh", "-c", f"echo x > {visible}/pipe"))
                done = await host.run(new_run(), plan, Start())
        assert ((done.exit_code == 0), os.read(end, 9)) == (
            not landlock,
            b"" if landlock else b"x\n",
        )
    finally:
        os.close(end)


WORKS = """
import asyncio, concurrent.futures, multiprocessing, socket, subprocess
async def echoed():
    child = await asyncio.create_subprocess_exec("echo", "x", stdout=subprocess.PIPE)
    return (await child.communicate())[0]
assert asyncio.run(echoed()) == b"x\\n"
context = multiprocessing.get_context("fork")
with context.Pool(2) as pool:
    assert pool.map(abs, [-1, -2]) == [1, 2]
with concurrent.futures.ProcessPoolExecutor(2, context) as pool:
    assert list(pool.map(abs, [-3])) == [3]
one, other = socket.socketpair()
one.send(b"y")
assert other.recv(1) == b"y"
with socket.create_server(("127.0.0.1", 0)) as server:
    socket.create_connection(server.getsockname()).close()
print("WORKED")
"""
NODE = """
const {fork} = require("child_process")
if (process.send) { process.send("x") } else {
  fork(__filename).on("message", (said) => { console.log("WORKED", said) })
}
"""


async def test_everyday_work_needs_no_such_socket(tmp_path: Path) -> None:
    """Pools of processes, subprocesses, loopback, and what node says to its children."""
    async with sandbox(tmp_path) as house:
        (house.workspace / "ipc.js").write_text(NODE)
        python = await house.run((PYTHON, "-I", "-c", WORKS))
        node = await house.run("node ipc.js && getent passwd root && id -un")

    assert python.output.text == "WORKED\n", python.output.text
    assert node.output.text.startswith("WORKED x\nroot:"), node.output.text
