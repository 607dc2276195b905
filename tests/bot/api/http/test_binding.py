"""Let no one else on this machine listen where ``localhost`` leads, and get the sign-in link."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from bot.api.http.binding import listeners_of
from core.errors import StateError
from core.settings.http import HttpSection
from tests.support.api_gateway import api_gateway
from tests.support.executors import UID
from tests.support.page_browser import PageBrowser, link_for
from tests.support.tcp_clients import connected_as

ROOT = Path(__file__).parents[4]
HELD = """
import json, sys
from bot.api.http.binding import listeners_of
from core.settings.http import HttpSection
listeners = listeners_of(HttpSection(listen=sys.argv[1], public=True))
print(json.dumps([one.getsockname()[:2] for one in listeners]))
"""
TAKING = """
import socket
others = [
    socket.create_server(("::1", port), family=socket.AF_INET6)
    for port in range(20_000, 20_022) if port not in {20_004, 20_005}
]
"""
CONNECTED = """
import socket
socket.create_connection(("127.0.0.1", 8791), 5)
"""


@contextmanager
def another(host: str) -> Iterator[tuple[socket.socket, int]]:
    """Listen on an address as another user's server does; yield it with its port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, 0), family=family) as server:
        yield server, server.getsockname()[1]


def taken(host: str, port: int) -> bool:
    """Return whether no one else can listen on an address any more."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.create_server((host, port), family=family).close()
    except OSError:
        return True
    return False


@pytest.mark.parametrize(
    ("theirs", "ours", "public"),
    [
        ("::1", "127.0.0.1", False),
        ("::1", "localhost", False),
        ("::1", "127.0.0.7", False),
        ("::1", "0.0.0.0", True),
        ("127.0.0.1", "[::1]", False),
        ("127.0.0.1", "127.0.0.7", False),
        ("127.0.0.1", "[::]", True),
        ("::1", "[::ffff:127.0.0.1]", True),
    ],
)
def test_a_port_that_another_holds_where_localhost_leads_is_not_used(
    tmp_path: Path, theirs: str, ours: str, public: bool
) -> None:
    """The gateway does not start, says why and what to do, and leaves nothing listening."""
    with another(theirs) as (server, port):
        refused = pytest.raises(StateError, match=r"cannot listen on .*in use.*http\.listen to a")
        with (
            refused as told,
            api_gateway(tmp_path / "home", listen=f"{ours}:{port}", public=public),
        ):
            pass
        server.settimeout(0.2)
        with pytest.raises(TimeoutError):
            server.accept()
    if ours != "[::]":
        where = f"[{theirs}]" if ":" in theirs else theirs
        assert f"cannot listen on {where}:{port}" in str(told.value)
        assert f"http.listen is {ours}:{port}" in str(told.value)
    assert not taken("127.0.0.1", port)
    assert not taken("::1", port)


def test_what_is_free_on_both_is_used(tmp_path: Path) -> None:
    """The control: once the other server is gone, the port works, and the other gets neither."""
    with another("::1") as (_, port):
        pass
    with api_gateway(tmp_path / "home", listen=f"127.0.0.1:{port}") as home:
        assert home.url == f"http://127.0.0.1:{port}"
        assert taken("::1", port)
        assert taken("127.0.0.1", port)


def test_one_address_alone_leaves_the_other_to_anybody() -> None:
    """The control of the attack: listening on 127.0.0.1 alone does not capture ``localhost``."""
    with another("127.0.0.1") as (_, port):
        assert not taken("::1", port)


@pytest.mark.parametrize("listen", ["127.0.0.1:0", "localhost:0", "[::1]:0", "0.0.0.0:0", "[::]:0"])
def test_both_serve_the_same(tmp_path: Path, listen: str) -> None:
    """A link signs in at either, and further requests need the session there too."""
    with api_gateway(tmp_path / "home", listen=listen, public=listen[0] in "0[") as home:
        port = home.address[1]
        for host in ("127.0.0.1", "[::1]", "localhost"):
            assert httpx.get(f"http://{host}:{port}/metrics").status_code == 401
            with httpx.Client(base_url=f"http://{host}:{port}", timeout=20) as client:
                browser = PageBrowser(client)
                assert browser.get("/").status_code == 401
                browser.sign_in(link_for(home))
                assert "Waiting for an answer" in browser.get("/").text


def test_the_address_of_a_gateway_on_every_address_can_be_opened(tmp_path: Path) -> None:
    """``[::]`` is an address to listen on only; what is printed and linked leads to the page."""
    with api_gateway(tmp_path / "home", listen="[::]:0", public=True) as home:
        assert home.url == f"http://0.0.0.0:{home.address[1]}"
        assert "Sign in as" in httpx.get(f"{home.url}{link_for(home)}").text


def test_any_free_port_is_free_on_both() -> None:
    """Of 22 ports another server holds all but two on ::1; one of the two is found."""
    found = _alone(
        "127.0.0.1:0", "echo 20000 20021 > /proc/sys/net/ipv4/ip_local_port_range", before=TAKING
    )
    assert found in [[["127.0.0.1", port], ["::1", port]] for port in (20_004, 20_005)]


def test_a_machine_without_ipv6_has_one() -> None:
    """Without ::1 ``localhost`` leads nowhere else; 127.0.0.1 listens alone."""
    found = _alone("127.0.0.1:8791", "echo 1 > /proc/sys/net/ipv6/conf/lo/disable_ipv6")
    assert found == [["127.0.0.1", 8791]]


def test_every_address_means_those_of_ipv4_whatever_the_default_is() -> None:
    """If sockets of IPv6 are for IPv6 only, 127.0.0.1 would be left to others."""
    found = _alone("[::]:8791", "echo 1 > /proc/sys/net/ipv6/bindv6only", then=CONNECTED)
    assert found == [["::", 8791]]


def _alone(listen: str, network: str, *, before: str = "", then: str = "") -> list[list[object]]:
    """Return where a gateway's listeners are on a machine with its own network."""
    rights = [] if os.getuid() == 0 else ["--user", "--map-root-user"]
    shell = f'ip link set lo up\n{network}\nexec "$@"'
    script = (sys.executable, "-c", before + HELD + then, listen)
    done = subprocess.run(
        ["unshare", *rights, "--net", "sh", "-ec", shell, "sh", *script],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: list[list[object]] = json.loads(done.stdout)
    return found


def test_listeners_are_closed_with_what_opened_them() -> None:
    """The port is free again at once, on both."""
    listeners = listeners_of(HttpSection(listen="127.0.0.1:0"))
    port = listeners[0].getsockname()[1]
    assert [one.getsockname()[:2] for one in listeners] == [("127.0.0.1", port), ("::1", port)]
    for one in listeners:
        one.close()
    assert not taken("127.0.0.1", port)
    assert not taken("::1", port)


def test_another_users_connections_end_none_of_ours_before_tls() -> None:
    """A listener is per user: all users of the machine have one address."""
    with ExitStack() as stack:
        listener, *others = listeners_of(HttpSection(listen="127.0.0.1:0"))
        for one in (listener, *others):
            stack.enter_context(one)
        ours = stack.enter_context(socket.create_connection(listener.getsockname()[:2]))
        stack.enter_context(listener.accept()[0])
        theirs = [
            stack.enter_context(connected_as(UID, "127.0.0.1", listener))
            for _ in range(listener.most + 1)
        ]
        ours.setblocking(False)
        with pytest.raises(BlockingIOError):
            ours.recv(1)
        theirs[0].setblocking(False)
        assert theirs[0].recv(1) == b""
