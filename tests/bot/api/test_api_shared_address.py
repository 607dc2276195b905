"""Let users of one machine share its loopback address without locking each other out."""

import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from bot.executor_setup.archive import interpreter
from core.ipc import users
from tests.support.api_gateway import ApiGateway, api_gateway
from tests.support.executors import UID
from tests.support.other_users import doing
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
_EACH = 40
_HOLDS = """
import socket, sys
held = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for _ in range(int(sys.argv[2]))]
lost = 0
for one in held:
    one.settimeout(0.2)
    try:
        one.recv(64)
        lost += 1
    except ConnectionResetError:
        lost += 1
    except TimeoutError:
        pass
print(lost, flush=True)
sys.stdin.read()
"""


_FROM = """
import os, select, socket, sys
port, kind, number = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
def connected(each):
    if kind == "uids":
        os.setresuid(200_000 + each, 200_000 + each, 0)
    made = socket.socket()
    if kind == "uids":
        os.setresuid(0, 0, 0)
    else:
        made.bind((f"127.0.1.{each + 1}", 0))
    made.connect(("127.0.0.1", port))
    return made
"""
"""Connects from many addresses of one user, or as many uids."""
_GUESSES = f"""{_FROM}
found = []
for each in range(number):
    with connected(each) as made:
        head = f"GET /login/{"A" * 43} HTTP/1.1\\r\\nHost: 127.0.0.1:{{port}}\\r\\n"
        made.sendall(f"{{head}}Connection: close\\r\\n\\r\\n".encode())
        found.append(made.recv(65536)[9:12].decode())
print(*found, flush=True)
sys.stdin.read()
"""
_MANY = f"""{_FROM}
most, held = int(sys.argv[4]), []
for each in range(number):
    made = connected(each)
    own = f"127.0.0.1:{{port}}"
    head = f"POST /login/passkey HTTP/1.1\\r\\nHost: {{own}}\\r\\nOrigin: http://{{own}}\\r\\n"
    made.sendall(f"{{head}}Content-Length: 9\\r\\n\\r\\nno".encode())
    held.append(made)
while len(select.select(held, (), (), 1)[0]) < number - most:
    pass
print("held", flush=True)
sys.stdin.read()
"""
"""Requests whose bodies never end: from many addresses of one user, or of many uids."""


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
def _held(home: ApiGateway, *uids: int) -> Iterator[list[int]]:
    """Have a process of each user hold the connections that it gets; yield how many it lost."""
    with ExitStack() as stack:
        held = (doing(uid, _HOLDS, home.address[1], _EACH) for uid in uids)
        yield [int(stack.enter_context(one)) for one in held]


def test_another_users_requests_slow_that_user(home: ApiGateway) -> None:
    """The rate of an address is that of each user on it; the control is the user itself."""
    statuses = _asked(home, UID, "/offline", 120)
    assert statuses.count("429") > 5
    ana = PageBrowser.signed_in(home)
    assert [ana.get("/offline").status_code for _ in range(5)] == [200] * 5
    assert "429" in _asked(home, UID, "/offline", 70)


def test_another_users_guesses_slow_that_user(home: ApiGateway) -> None:
    """Failures are counted per user as well; a stale session of this one signs in again."""
    statuses = _asked(home, _GUESSER, "/login/" + "A" * 43, 10)
    assert {"403", "429"} == set(statuses)
    ana = PageBrowser.at(home, Cookie=f"{home.session_cookie}=stale")
    assert ana.get("/").status_code == 401


def test_another_users_connections_leave_some_for_this_one(home: ApiGateway) -> None:
    """A client that holds all it gets does not hold all, nor what the same user's others need."""
    with _held(home, UID) as lost:
        assert all(lost), "it asked for more than there are"
        assert PageBrowser.signed_in(home).get("/").status_code == 200
        assert "503" not in _asked(home, UID, "/offline", 3)


def test_eight_users_together_keep_nobody_out(home: ApiGateway) -> None:
    """The client that holds the most makes room."""
    with _held(home, *range(UID, UID + 8)) as lost:
        assert all(lost), "each asked for more than it got"
        for _ in range(3):
            assert PageBrowser.signed_in(home).get("/").status_code == 200


@contextmanager
def _held_by_bodies(home: ApiGateway, kind: str, uid: int) -> Iterator[None]:
    about = (home.address[1], kind, _EACH, LIMITS["connections"])
    with doing(uid, _MANY, *about) as said:
        assert said == "held\n"
        yield


def _seen_by(ana: PageBrowser) -> set[int]:
    """Return the statuses of what a browser loads, on separate connections at once."""
    cookies, url = ana.http.cookies, str(ana.http.base_url)

    def status(path: str) -> int:
        return httpx.get(url + path, cookies=cookies, timeout=20).status_code

    with ThreadPoolExecutor(4) as threads:
        return set(threads.map(status, ["/", "/history", "/sessions", "/offline"]))


@pytest.mark.parametrize(("kind", "uid"), [("addresses", UID - 2), ("uids", 0)])
def test_guesses_from_many_addresses_and_uids_are_one_users(
    home: ApiGateway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, uid: int
) -> None:
    """Each had its own three wrong links when each was a separate client."""
    subordinate = tmp_path / "subuid"
    subordinate.write_text("eve:200000:65536\n")
    monkeypatch.setattr(users, "SUBORDINATE", subordinate)
    with doing(uid, _GUESSES, home.address[1], kind, 12) as said:
        assert said.split() == ["403"] * 3 + ["429"] * 9


def test_a_user_with_many_addresses_is_one_user(home: ApiGateway) -> None:
    """All addresses of loopback are everyone's, so it holds no more than its share.

    That an incomplete request frees its slot is needed where each is another user, below.
    """
    ana = PageBrowser.signed_in(home)
    with _held_by_bodies(home, "addresses", UID):
        assert _seen_by(ana) == {200}


def test_a_user_with_many_uids_is_one_user(
    home: ApiGateway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As rootless containers use them."""
    subordinate = tmp_path / "subuid"
    subordinate.write_text("eve:200000:65536\n")
    monkeypatch.setattr(users, "SUBORDINATE", subordinate)
    ana = PageBrowser.signed_in(home)
    with _held_by_bodies(home, "uids", 0):
        assert _seen_by(ana) == {200}


def test_a_request_without_its_body_gives_way(home: ApiGateway) -> None:
    """Many users that hold one each are no reason to let no one in."""
    ana = PageBrowser.signed_in(home)
    with _held_by_bodies(home, "uids", 0):
        assert ana.get("/").status_code == 200
