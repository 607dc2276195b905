"""Users of one machine share its loopback address: none of them keeps the others out."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from bot.executor_setup.archive import interpreter
from tests.support.api_gateway import ApiGateway, api_gateway
from tests.support.executors import UID
from tests.support.page_browser import PageBrowser

LIMITS = {
    "addressRate": 1,
    "addressBurst": 60,
    "failures": 3,
    "connections": 20,
    "patience": 30,
}
_GUESSER = UID - 1
_ASKS = """
import socket, sys
address, path = ("127.0.0.1", int(sys.argv[1])), sys.argv[2]
found = []
for _ in range(int(sys.argv[3])):
    with socket.create_connection(address) as s:
        head = f"GET {path} HTTP/1.1\\r\\nHost: 127.0.0.1:{address[1]}\\r\\n"
        s.sendall(f"{head}Connection: close\\r\\n\\r\\n".encode())
        found.append(s.recv(65536)[9:12].decode())
print(*found)
"""
_HOLDS = """
import socket, sys
held = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for _ in range(40)]
print("holds", flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiGateway]:
    """Run a gateway with tight limits for each address."""
    with api_gateway(tmp_path_factory.mktemp("shared") / "home", limits=LIMITS) as running:
        yield running


def _asked(home: ApiGateway, uid: int, path: str, times: int) -> list[str]:
    """Ask as a user of this machine; return the statuses."""
    about = (str(home.address[1]), path, str(times))
    words = (interpreter(), "-I", "-S", "-c", _ASKS, *about)
    ran = subprocess.run(words, user=uid, capture_output=True, text=True, check=True, timeout=60)
    return ran.stdout.split()


@contextmanager
def _held(home: ApiGateway, uid: int) -> Iterator[None]:
    """Have a process of a user hold all the connections that it gets."""
    words = (interpreter(), "-I", "-S", "-c", _HOLDS, str(home.address[1]))
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, user=uid, text=True
    ) as started:
        assert started.stdout is not None
        assert started.stdout.readline() == "holds\n"
        yield
        started.communicate()


def test_another_users_requests_slow_that_user(home: ApiGateway) -> None:
    """The rate of an address is that of each user on it; the control is the user itself."""
    statuses = _asked(home, UID, "/offline", 120)
    assert statuses.count("429") > 5
    ana = PageBrowser.signed_in(home)
    assert [ana.get("/offline").status_code for _ in range(5)] == [200] * 5
    assert "429" in _asked(home, UID, "/offline", 70)


def test_another_users_guesses_slow_that_user(home: ApiGateway) -> None:
    """Failures are counted by user as well; a stale session of this one signs in anew."""
    statuses = _asked(home, _GUESSER, "/login/" + "A" * 43, 10)
    assert {"403", "429"} == set(statuses)
    ana = PageBrowser.at(home, Cookie=f"{home.session_cookie}=stale")
    assert ana.get("/").status_code == 401


def test_another_users_connections_leave_half_for_others(home: ApiGateway) -> None:
    """Who holds all it gets does not hold all; the control is who shares the user."""
    with _held(home, UID):
        assert PageBrowser.signed_in(home).get("/").status_code == 200
        assert set(_asked(home, UID, "/offline", 3)) <= {"503", "429"}
