"""Try the executor by hand with ``--socket PATH``, S2's own way."""

import os
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bot.executor.own_socket import NoClient, accepted
from tests.support.executors import USER
from tests.support.waiting import wait_until


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a private folder."""
    made = tmp_path / "private"
    made.mkdir(mode=0o700)
    return made


def _listens(place: Path) -> bool:
    """Return whether a process listens there, without being the one client (SO_ACCEPTCON)."""
    lines = Path("/proc/net/unix").read_text(encoding="utf-8").splitlines()
    return any(line.split()[3] == "00010000" for line in lines if line.endswith(f" {place}"))


def test_one_client_is_served(executor_path: str, folder: Path) -> None:
    """S2's manual test, as written there; the socket is gone once a client has connected."""
    place = folder / "s"
    with subprocess.Popen([executor_path, "--socket", str(place)]) as process:
        wait_until("the socket", lambda: _listens(place))
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(place))
            client.sendall(b'{"jsonrpc":"2.0","id":"1","method":"ping","params":{}}\n')
            said = client.recv(4096)
            left = place.exists()
        assert process.wait(20) == 0

    assert said.startswith(b'{"jsonrpc":"2.0","id":"1","result":{"pong":true,')
    assert not left


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o701])
def test_a_folder_that_is_open_to_others_is_refused(folder: Path, mode: int) -> None:
    """Another user could put their own socket there."""
    folder.chmod(mode)

    with pytest.raises(NoClient, match="mode 0700"):
        accepted(str(folder / "s"), 0.1)

    assert list(folder.iterdir()) == []


def test_nobody_connects(folder: Path) -> None:
    """It waits for the given time, and leaves nothing."""
    began = time.monotonic()
    with pytest.raises(NoClient, match="within 200 ms"):
        accepted(str(folder / "s"), 0.2)

    assert 0.2 <= time.monotonic() - began < 5
    assert list(folder.iterdir()) == []


def test_what_is_there_already_stays(folder: Path) -> None:
    """A file of that name is not a socket to remove."""
    (folder / "s").write_text("kept")

    with pytest.raises(NoClient, match="s: "):
        accepted(str(folder / "s"), 0.1)

    assert (folder / "s").read_text() == "kept"


def test_another_user_is_sent_away(executor_path: str, folder: Path) -> None:
    """The kernel says who connects; the folder keeps others out as well."""
    place = folder / "s"
    client = (
        "import os, socket, sys; s = socket.socket(socket.AF_UNIX); d = os.open(sys.argv[1], "
        "os.O_PATH); os.setuid(65534); s.connect(f'/proc/self/fd/{d}/s'); print(s.recv(9))"
    )
    with subprocess.Popen(
        [executor_path, "--socket", str(place)], stderr=subprocess.PIPE, text=True
    ) as process:
        wait_until("the socket", lambda: _listens(place))
        mode = stat.S_IMODE(place.stat().st_mode)
        place.chmod(0o666)
        folder.chmod(0o755)  # the folder's guard is removed, the other one must hold
        words = [sys.executable, "-I", "-c", client, str(folder)]
        tried = subprocess.run(words, capture_output=True, text=True, timeout=20, check=False)
        _, said = process.communicate(timeout=20)

    assert os.getuid() == 0, "this test changes its user"
    assert tried.stdout in {"b''\n", ""}
    assert "may not" in said, (said, tried.stderr, USER)
    assert mode == 0o600
