import asyncio
import contextlib
import datetime as dt
import socket
import ssl
import threading
import time
from ipaddress import ip_address
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from bot.app import gateway
from bot.settings import InvalidConfig, load
from core.errors import StateError
from tests.bot.api import raw_sockets
from tests.support.api_gateway import api_gateway, configure


def test_it_is_off_unless_it_is_asked_for(tmp_path: Path) -> None:
    """Without http.enabled nothing listens and no web framework is loaded."""
    configure(tmp_path / "home", enabled=False)

    async def urls() -> str | None:
        async with gateway(load(tmp_path / "home", environ={})) as running:
            return running.api_url

    assert asyncio.run(urls()) is None


@pytest.mark.parametrize(
    "listen", ["0.0.0.0:8791", "[::]:8791", "10.0.0.7:8791", "sayso.example:1"]
)
def test_other_machines_are_let_in_on_purpose_only(tmp_path: Path, listen: str) -> None:
    """An address that others can reach needs http.public; the message says so."""
    configure(tmp_path / "home", listen=listen)
    with pytest.raises(InvalidConfig, match=r"http: .*public: true"):
        load(tmp_path / "home", environ={})

    configure(tmp_path / "home", listen=listen, public=True)
    assert load(tmp_path / "home", environ={}).http.listen == listen


@pytest.mark.parametrize("listen", ["127.0.0.1", ":80", "127.0.0.1:70000", "a b:1", "http://a:1"])
def test_an_address_is_read_strictly(tmp_path: Path, listen: str) -> None:
    """HOST:PORT and nothing else."""
    configure(tmp_path / "home", listen=listen)

    with pytest.raises(InvalidConfig, match="HOST:PORT"):
        load(tmp_path / "home", environ={})


def test_an_address_that_is_taken_is_told(tmp_path: Path) -> None:
    """The gateway does not start, and says what to do."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = pytest.raises(StateError, match=r"cannot listen on .*http\.listen")
        with refused, api_gateway(tmp_path / "home", listen=f"127.0.0.1:{port}"):
            pass


def test_no_answer_names_the_server(tmp_path: Path) -> None:
    """A search for a version with a known hole finds none, in what we and uvicorn answer."""
    with api_gateway(tmp_path / "home") as home:
        whole = home.client("reader").get("/health")
        with socket.create_connection(home.address) as broken:
            broken.sendall(b"no HTTP\r\n\r\n")
            refused = broken.makefile("rb").read()

    assert "server" not in whole.headers
    assert refused.startswith(b"HTTP/1.1 400 ")
    assert b"\r\nserver:" not in refused.lower()


def test_it_stops_within_a_bound_whatever_clients_do(tmp_path: Path) -> None:
    """A long poll, an idle connection and a half head do not delay the gateway's stop."""
    with api_gateway(tmp_path / "home") as home:
        idle = socket.create_connection(home.address)
        half = socket.create_connection(home.address)
        half.sendall(b"GET /heal")
        slow = threading.Thread(target=_poll, args=(home.url, home.headers("agent")))
        slow.start()
        time.sleep(0.3)
        began = time.monotonic()
    assert time.monotonic() - began < 6
    slow.join(5)
    idle.close()
    half.close()


def _poll(url: str, headers: dict[str, str]) -> None:
    with contextlib.suppress(httpx.TransportError):
        httpx.get(f"{url}/v1/events?session=a&wait=30", headers=headers, timeout=30)


def test_https_with_a_certificate_of_ones_own(tmp_path: Path) -> None:
    """The certificate is shown; a key that others may read stops the start."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    _certificate(home)
    tls = {"cert": "api.pem", "key": "api-key.pem"}
    context = ssl.create_default_context(cafile=str(home / "api.pem"))
    with api_gateway(home, tls=tls, limits={"patience": 2}) as running:
        with socket.create_connection(running.address) as silent:
            assert raw_sockets.seconds_until_hung_up(silent) < 5, "TLS is agreed on in time"
        with httpx.Client(base_url=running.url, verify=context) as client:
            assert client.get("/health").json()["ok"] is True
        with pytest.raises(httpx.TransportError):
            httpx.get(running.url.replace("https", "http") + "/health")
    (home / "api-key.pem").chmod(0o644)
    with pytest.raises(StateError, match="chmod 600"), api_gateway(home, tls=tls):
        pass
    (home / "api-key.pem").write_text("no key")
    (home / "api-key.pem").chmod(0o600)
    with pytest.raises(StateError, match=r"http\.tls cannot be used"), api_gateway(home, tls=tls):
        pass


def _certificate(home: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = dt.datetime.now(dt.UTC)
    names = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(names, critical=False)
        .sign(key, hashes.SHA256())
    )
    (home / "api.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    written = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    (home / "api-key.pem").write_bytes(written)
    (home / "api-key.pem").chmod(0o600)
