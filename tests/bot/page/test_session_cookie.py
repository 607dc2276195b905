"""Count a page's session only for the Unix user whose browser was signed in."""

import os
import subprocess
from pathlib import Path

import pytest
from starlette.types import Scope as Request

from bot.executor_setup.archive import interpreter
from bot.page.session_cookie import SessionCookie
from core.errors import Unauthenticated
from core.runner import tcp_peer
from core.settings.http import HttpSection
from core.trust.sealing import Seals
from tests.support.api_gateway import ApiGateway
from tests.support.executors import UID
from tests.support.page_browser import PageBrowser, link_for

THIEF = """
import re, socket, sys
port, name, cookie, approval = int(sys.argv[1]), *sys.argv[2:5]
leave = sys.argv[5] == "leave"
def sent(verb, path, body="", more="", close=False):
    s = socket.create_connection(("127.0.0.1", port))
    head = f"{verb} {path} HTTP/1.1\\r\\nHost: 127.0.0.1:{port}\\r\\n"
    head += f"Cookie: {name}={cookie}\\r\\n"
    head += f"{more}Content-Length: {len(body)}\\r\\nConnection: close\\r\\n\\r\\n"
    s.sendall(head.encode() + body.encode())
    if close:
        s.close()
        return b""
    answer = b""
    while piece := s.recv(65536):
        answer += piece
    return answer
page = sent("GET", "/sessions").decode()
token = re.search(r'name="csrf" value="([0-9a-f]{64})"', page)
form = "decision=allow-once&csrf=" + (token[1] if token else "0" * 64)
kind = "Content-Type: application/x-www-form-urlencoded\\r\\n"
kind += f"Origin: http://127.0.0.1:{port}\\r\\n"
answer = sent("POST", f"/approve/{approval}/answer", form, kind, leave)
print(page[9:12], answer[9:12].decode())
"""


@pytest.fixture
def asked(home: ApiGateway) -> str:
    """Ask for a command; return its approval."""
    return str(home.ask("cat /etc/hostname | tee /dev/null")["id"])


def _state(home: ApiGateway, approval: str) -> str:
    found = home.client("person").get(f"/v1/approvals/{approval}")
    return str(found.json()["state"])


def _stolen(home: ApiGateway, ana: PageBrowser, approval: str, uid: int, how: str = "stay") -> str:
    """Use Ana's cookie to answer, from a process of this user; return the two statuses."""
    about = (str(home.address[1]), home.session_cookie, ana.session, approval, how)
    words = (interpreter(), "-I", "-S", "-c", THIEF, *about)
    ran = subprocess.run(words, user=uid, capture_output=True, text=True, check=True, timeout=30)
    return ran.stdout.strip()


def test_another_user_of_the_machine_gets_nothing_for_the_cookie(
    home: ApiGateway, ana: PageBrowser, asked: str
) -> None:
    """The browser sends the cookie to a web server on another port; it is worthless there."""
    assert _stolen(home, ana, asked, UID) == "401 401"
    assert _state(home, asked) == "pending"
    assert ana.get("/").status_code == 200
    assert _stolen(home, ana, asked, os.geteuid()) == "200 303"  # the control
    assert _state(home, asked) != "pending"


def test_who_hangs_up_before_the_answer_is_nobody(
    home: ApiGateway, ana: PageBrowser, asked: str
) -> None:
    """The kernel no longer knows the user of a closed connection."""
    for _ in range(20):
        _stolen(home, ana, asked, UID, "leave")
    assert _state(home, asked) == "pending"


def _request(cookie: str, peer: tuple[str, int], own: tuple[str, int]) -> Request:
    headers = [(b"cookie", f"sayso_session_5a={cookie}; __Host-sayso-5a={cookie}".encode())]
    return {"type": "http", "headers": headers, "client": peer, "server": own}


LAPTOP, OTHER, HERE = ("192.0.2.7", 5001), ("192.0.2.8", 5001), ("192.0.2.1", 8791)


@pytest.fixture
def cookie(tmp_path: Path) -> SessionCookie:
    """Return a cookie of a page over plain HTTP."""
    return SessionCookie(HttpSection(), Seals(tmp_path / "store.key"), "5a")


def test_without_tls_another_machine_gets_nothing_for_the_cookie(cookie: SessionCookie) -> None:
    """The address of the browser's machine counts; its port does not."""
    value = cookie.sealed("token", _request("", LAPTOP, HERE))
    assert value is not None
    assert cookie.token(_request(value, (LAPTOP[0], 6002), HERE)) == "token"
    for peer in (OTHER, ("127.0.0.1", 5001), HERE):
        with pytest.raises(Unauthenticated):
            cookie.token(_request(value, peer, HERE))


def test_with_tls_a_phone_may_change_its_network(tmp_path: Path) -> None:
    """Browsers show a Secure cookie to no server that has no certificate for its host."""
    secure = HttpSection(url="https://sayso.example")
    cookie = SessionCookie(secure, Seals(tmp_path / "store.key"), "5a")
    value = cookie.sealed("token", _request("", LAPTOP, HERE))
    assert value is not None
    assert cookie.token(_request(value, OTHER, HERE)) == "token"
    with pytest.raises(Unauthenticated):
        cookie.token(_request(value, ("127.0.0.1", 5001), ("127.0.0.1", 8791)))


def test_who_cannot_be_known_is_given_none(cookie: SessionCookie) -> None:
    """A connection of this machine that is already closed."""
    assert cookie.sealed("token", _request("", ("127.0.0.1", 1), ("127.0.0.1", 8791))) is None
    assert cookie.sealed("token", _request("", ("::1", 1), ("::1", 8791))) is None
    assert cookie.token({"type": "http", "headers": []}) == ""


def test_another_key_or_a_bare_token_is_no_session(cookie: SessionCookie, tmp_path: Path) -> None:
    """Of another gateway, or read from a place where tokens are."""
    other = SessionCookie(cookie.section, Seals(tmp_path / "other.key"), "5a")
    for value in (other.sealed("token", _request("", LAPTOP, HERE)), "token", "sealed:1:x:y"):
        with pytest.raises(Unauthenticated):
            cookie.token(_request(str(value), LAPTOP, HERE))


ODD = (
    'prefs={"a":1}',
    "x=a b c",
    "a[b]=1",
    "foo",
    'a="x',
    "path=/x",
    "a/b=1",
    "name=\xe9\xff",
    "=;;=",
    "{own}=chosen",
    "{own}=sealed:1:00000000:AAAA; {browser}=" + "A" * 43,
)
"""Cookies of other servers of the host, which a browser sends along."""


@pytest.mark.parametrize("odd", ODD)
def test_what_other_servers_set_keeps_nobody_out(
    home: ApiGateway, ana: PageBrowser, odd: str
) -> None:
    """Neither of a session nor of signing in; before and after our own cookies."""
    browser = home.session_cookie.replace("session", "browser")
    odd = odd.format(own=home.session_cookie, browser=browser) if "{own}" in odd else odd
    own = f"{home.session_cookie}={ana.session}"
    for line in (f"{odd}; {own}", f"{own}; {odd}"):
        answer = ana.http.get("/", headers=[(b"Cookie", line.encode("latin-1"))])
        assert answer.status_code == 200, line
    path, stranger = link_for(home), PageBrowser.at(home)
    given = stranger.http.get(path, headers=[(b"Cookie", odd.encode("latin-1"))]).cookies[browser]
    both = f"{odd}; {browser}={given}".encode("latin-1")
    entered = stranger.http.post(path, headers=[(b"Cookie", both), (b"Origin", home.url.encode())])
    assert entered.status_code == 303


def test_a_browser_is_bound_to_a_link_by_its_own_user_alone(home: ApiGateway) -> None:
    """A server that is sent the cookie, or plants one, uses no link with it."""
    path, browser = link_for(home), PageBrowser.at(home)
    browser.get(path)
    name = home.session_cookie.replace("session", "browser")
    taken = next(one.value for one in browser.http.cookies.jar if one.name == name)
    about = (str(home.address[1]), name, str(taken), path)
    words = (interpreter(), "-I", "-S", "-c", _PRESSES, *about)
    ran = {
        uid: subprocess.run(words, user=uid, capture_output=True, text=True, check=True, timeout=30)
        for uid in (UID, os.geteuid())
    }
    assert [ran[uid].stdout.strip() for uid in (UID, os.geteuid())] == ["403", "303"]


_PRESSES = """
import socket, sys
port, name, cookie, path = int(sys.argv[1]), *sys.argv[2:5]
with socket.create_connection(("127.0.0.1", port)) as s:
    head = f"POST {path} HTTP/1.1\\r\\nHost: 127.0.0.1:{port}\\r\\n"
    head += f"Origin: http://127.0.0.1:{port}\\r\\nCookie: {name}={cookie}\\r\\n"
    s.sendall(f"{head}Content-Length: 0\\r\\nConnection: close\\r\\n\\r\\n".encode())
    print(s.recv(65536)[9:12].decode())
"""


def test_a_cookie_that_is_no_seal_of_ours_asks_the_kernel_nothing(
    cookie: SessionCookie, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Junk is cheap to refuse; the control is a genuine cookie."""
    asked: list[object] = []
    monkeypatch.setattr(tcp_peer, "uid_of", lambda *ends: asked.append(ends))
    for value in ("x", "sealed:1:00000000:AAAA", "sealed:1:" + "A" * 200):
        with pytest.raises(Unauthenticated):
            cookie.token(_request(value, LAPTOP, HERE))
    assert not asked
    genuine = cookie.sealed("token", _request("", LAPTOP, HERE))
    assert cookie.token(_request(str(genuine), LAPTOP, HERE)) == "token"
    assert len(asked) == 2
