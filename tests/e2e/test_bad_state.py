"""Break what the gateway depends on: each time a clear error, nothing run, nothing lost."""

import json
import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.gateway_process import GatewayProcess, write_config
from tests.support.waiting import wait_until


def test_second_gateway_on_one_home(quiet: GatewayProcess) -> None:
    """A second gateway on the same files exits with a reason and harms nothing."""
    second = quiet.cli("serve")

    assert 1 == second.returncode
    assert quiet.process is not None
    assert f"pid {quiet.process.pid}, since 20" in second.stderr
    assert f"socket {quiet.home}/gateway.sock" in second.stderr
    assert f"`kill {quiet.process.pid}`" in second.stderr
    assert "audit" not in second.stderr
    assert 1 == len(second.stderr.strip().splitlines())
    assert 0 == quiet.cli("run", "-c", "echo alive").returncode


def test_corrupt_approvals_file(quiet: GatewayProcess) -> None:
    """Nothing is allowed from a file that cannot be read; repairing it is enough."""
    path = quiet.home / "exec-approvals.json"
    good = path.read_text()
    path.write_text(good[:-20])

    broken = quiet.cli("run", "-c", "echo alive")
    path.write_text(good)
    mended = quiet.cli("run", "-c", "echo alive")

    assert (3, "") == (broken.returncode, broken.stdout)
    assert "exec-approvals.json" in broken.stderr
    assert (0, "alive\n") == (mended.returncode, mended.stdout)


def test_approvals_file_that_others_may_write(quiet: GatewayProcess) -> None:
    """A file that others could rewrite is refused, with the command that fixes it."""
    (quiet.home / "exec-approvals.json").chmod(0o666)

    done = quiet.cli("run", "-c", "echo alive")

    assert 3 == done.returncode
    assert "denied (security_deny)" in done.stderr
    assert "chmod 600" in done.stderr


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ('{tools: {exec: {aks: "always"}}}', ["config.json5:1", "tools.exec.aks", "ask"]),
        ('{tools: {exec: {ask: "sometimes"}}}', ["tools.exec.ask"]),
        ("{tools: {}, tools: {}}", ["config.json5:1", "tools: duplicate key"]),
        ("{tools: ", ["config.json5:1"]),
    ],
)
def test_bad_configuration(tmp_path: Path, config: str, words: list[str]) -> None:
    """An unusable configuration prevents the start: exit 2, the place, the nearest word."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "config.json5").write_text(config)

    done = GatewayProcess(home).cli("serve")

    assert 2 == done.returncode
    assert all(word in done.stderr for word in words), done.stderr
    assert "Traceback" not in done.stderr


def test_home_that_cannot_be_used(tmp_path: Path) -> None:
    """A home that is a file, or that others may write to, is refused with what to do."""
    (tmp_path / "file").touch()
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)

    a_file = GatewayProcess(tmp_path).cli_at(tmp_path / "file", "serve")
    shared = GatewayProcess(tmp_path).cli_at(tmp_path / "open", "serve")

    assert 1 == a_file.returncode == shared.returncode
    assert "chmod" in shared.stderr
    assert "Traceback" not in a_file.stderr + shared.stderr


def test_no_gateway(tmp_path: Path) -> None:
    """Without a gateway every command says so, and how to start one."""
    write_config(tmp_path / "home", None)

    done = GatewayProcess(tmp_path / "home").cli("run", "-c", "true")

    assert 1 == done.returncode
    assert "sayso serve" in done.stderr


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (b"not json\n", -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"exec.nothing","params":{}}\n', -32601),
        (b'{"jsonrpc":"2.0","id":1,"method":"exec.run","params":{"cwd":"/"}}\n', -32602),
        (
            b'{"jsonrpc":"2.0","id":1,"method":"exec.run","params":{"cwd":"/","shell":true}}\n',
            -32602,
        ),
        (b'{"jsonrpc":"2.0","id":1,"method":"\xff"}\n', -32700),
        (b"[]\n", -32600),
    ],
)
def test_malformed_frames(quiet: GatewayProcess, sent: bytes, code: int) -> None:
    """An invalid request gets a JSON-RPC error, and the gateway continues."""
    with socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(10)
        peer.connect(str(quiet.home / "gateway.sock"))
        peer.sendall(sent)
        answer = json.loads(peer.makefile().readline())

    assert code == answer["error"]["code"]
    assert 0 == quiet.cli("run", "-c", "echo alive").returncode


def test_line_of_more_than_8_mib(quiet: GatewayProcess) -> None:
    """A frame over the cap is refused and its connection closed; others are served."""
    with socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(20)
        peer.connect(str(quiet.home / "gateway.sock"))
        try:
            for _ in range(9):
                peer.sendall(b"x" * 1024 * 1024)
        except (BrokenPipeError, ConnectionResetError):
            pass
        answer = peer.makefile(errors="replace").readline()

    assert "larger than 8388608 bytes" in answer
    assert 0 == quiet.cli("run", "-c", "echo alive").returncode


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """Mount a disk of 24 MiB."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def _alive(done: subprocess.CompletedProcess[str]) -> subprocess.CompletedProcess[str] | None:
    return done if done.returncode == 0 else None


@pytest.mark.timeout(120)
def test_full_disk(tmp_path: Path) -> None:
    """On a full disk nothing runs and the caller is told; with space again, everything works."""
    assert os.getuid() == 0, "this test mounts a small disk: run it as root"
    with small_disk(tmp_path / "disk") as disk:
        home = disk / "home"
        write_config(home, None)
        gateway = GatewayProcess(home)
        gateway.start()
        try:
            marker = tmp_path / "ran"
            waiting = gateway.cli("run", "--no-wait", "-c", f"echo x > {marker}").stdout.strip()
            filler = disk / "filler"
            with filler.open("wb", buffering=0) as file:
                try:
                    while True:
                        file.write(b"\0" * 65536)
                except OSError:
                    pass

            full = gateway.cli("run", "-c", "echo alive")
            allow = gateway.cli("approve", waiting, "allow-once", own_session=True)
            filler.unlink()
            free = wait_until("space", lambda: _alive(gateway.cli("run", "-c", "echo alive")))
            still = gateway.json("pending")
        finally:
            gateway.stop()

    assert (1, "") == (full.returncode, full.stdout)
    assert "space" in full.stderr
    assert 0 != allow.returncode
    assert not marker.exists()
    assert "alive\n" == free.stdout
    assert [waiting] == [row["id"] for row in still]
