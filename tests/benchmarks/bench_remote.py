"""Time remote exec against ssh on this machine, and the exec log against bare syncs.

The sshd is started here, on loopback, with its own keys; both sides run /usr/bin/true, in turn, so
that the ratio is right while the machine's speed drifts. `by command` starts a client program for
each run, as ssh does; `by gateway` is the wait of an agent that is already connected.
"""

import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bot.client import Client
from core.remote.host.exec_log import ExecEvent, open_exec_log
from tests.e2e.remote_gateways import identity, know, write
from tests.support.gateway_process import GatewayProcess
from tests.support.waiting import wait_until

ROUNDS = 20
GOAL = 3.0
WRITERS, ENTRIES, ENTRY_GOAL = 32, 200, 2_000
SSHD = "/usr/sbin/sshd"
SAYSO = str(Path(sys.executable).with_name("sayso"))


@contextmanager
def sshd(folder: Path) -> Iterator[list[str]]:
    """Run an sshd and yield the words of an ssh client that it lets in."""
    for name in ("host", "user"):
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(words, check=True)
    (folder / "user.pub").rename(folder / "authorized")
    Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "config").write_text(
        f"ListenAddress 127.0.0.1:{port}\nHostKey {folder}/host\nUsePAM no\nStrictModes no\n"
        f"AuthorizedKeysFile {folder}/authorized\nPermitRootLogin yes\nPidFile none\n"
    )
    server = subprocess.Popen([SSHD, "-D", "-e", "-f", f"{folder}/config"], stderr=subprocess.PIPE)
    client = ["ssh", "-F", "none", "-i", f"{folder}/user", "-p", str(port), "-o", "BatchMode=yes"]
    client += ["-o", f"UserKnownHostsFile={folder}/known", "-o", "StrictHostKeyChecking=no"]
    client += ["-o", "LogLevel=ERROR", "127.0.0.1"]
    try:
        wait_until("sshd", lambda: subprocess.run([*client, "true"], check=False).returncode == 0)
        yield client
    finally:
        server.terminate()
        server.communicate(timeout=10)


@contextmanager
def gateways(folder: Path) -> Iterator[tuple[GatewayProcess, str]]:
    """Run a host that lists /usr/bin/true, and a client; yield the client and the host's agent."""
    acl = folder / "exec-acl.toml"
    client = write(folder / "client")
    host = write(folder / "host", remote={"acl": str(acl), "listen": ["127.0.0.1:0"]})
    asks, hosts = identity(client), identity(host)
    acl.write_text(
        f'[exec]\nenabled = true\n[[exec.allow]]\nagent_id = "{asks["agent_id"]}"\n'
        f'machine_id = "{asks["machine_id"]}"\n[[exec.allow.commands]]\nargv = ["/usr/bin/true"]\n'
    )
    host.start()
    client.start()
    try:
        listener = host.json("diagnostics", "exec")["listening"][0]
        know(host, "laptop", asks)
        know(client, "web1", hosts, "--address", listener, "--fingerprint", hosts["fingerprint"])
        yield client, hosts["agent_id"]
    finally:
        client.stop()
        host.stop()


def timed(work: Callable[[], object]) -> float:
    """Return the seconds that something takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def started(words: list[str], environ: dict[str, str] | None = None) -> None:
    """Run a program, which must succeed."""
    subprocess.run(words, check=True, env=environ, stdin=subprocess.DEVNULL)


@pytest.mark.deep
@pytest.mark.benchmark
def test_round_trip_beside_ssh(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Asked, admitted, logged thrice, run and answered over loopback TLS, as a ratio to ssh."""
    for name in ("ssh", "gateways"):
        (tmp_path / name).mkdir()
    with sshd(tmp_path / "ssh") as ssh, gateways(tmp_path / "gateways") as (gateway, agent_id):
        wish = {"agent_id": agent_id, "argv": ["/usr/bin/true"]}
        command = [SAYSO, "exec", "web1", "--", "/usr/bin/true"]
        with Client(str(gateway.home / "gateway.sock")) as client:

            def called() -> None:
                answer = client.call("exec.remote.run", wish)
                assert answer["ok"], json.dumps(answer)

            for _ in range(5):
                called()
            rows = [
                (
                    timed(lambda: started(command, gateway.environ())),
                    timed(called),
                    timed(lambda: started([*ssh, "/usr/bin/true"])),
                )
                for _ in range(ROUNDS)
            ]
    by_command, by_gateway, floor = (
        statistics.median(column) for column in zip(*rows, strict=True)
    )
    with capsys.disabled():
        print(
            f"\nACL exec of /usr/bin/true over loopback TLS: by command p50 "
            f"{by_command * 1e3:.0f} ms, by gateway p50 {by_gateway * 1e3:.1f} ms; "
            f"ssh p50 {floor * 1e3:.0f} ms; ratios "
            f"{by_command / floor:.2f}x and {by_gateway / floor:.2f}x (goal <= {GOAL:.0f}x)"
        )
    assert by_command / floor < GOAL
    assert by_gateway < by_command


@pytest.mark.benchmark
async def test_durable_audit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Entries a second that are on disk before their writer continues, with 32 writers."""
    log = open_exec_log(tmp_path / "exec.log", list)

    async def writer(number: int) -> None:
        for entry in range(ENTRIES):
            await log.note(ExecEvent.FINISHED, f"{number}-{entry}", code=0, durationMs=1)

    start = time.perf_counter()
    await asyncio.gather(*(writer(number) for number in range(WRITERS)))
    rate = WRITERS * ENTRIES / (time.perf_counter() - start)
    log.close()
    bare = 1 / statistics.median(syncs(tmp_path / "bare"))
    with capsys.disabled():
        print(
            f"\nexec log, {WRITERS} writers: {rate:,.0f} durable entries/s "
            f"(goal >= {ENTRY_GOAL:,}); one writer of bare write+fdatasync "
            f"{bare:,.0f}/s; ratio {rate / bare:.1f}x"
        )
    assert rate > ENTRY_GOAL / 2


def syncs(path: Path) -> list[float]:
    """Return the seconds of single appends that reach the disk."""
    line = b"x" * 300 + b"\n"
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        return [timed(lambda: (os.write(file, line), os.fdatasync(file))) for _ in range(200)]
    finally:
        os.close(file)
