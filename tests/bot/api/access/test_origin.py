import pytest

from bot.api.access.origin import check_site
from bot.api.http.errors import Fault
from core.settings.http import HttpSection
from tests.support.tables import rows

SECTION = HttpSection(
    listen="127.0.0.1:8791", hosts=("sayso.example",), origins=("https://panel.example",)
)


def scope(host: str, *, origin: str | None = None, scheme: str = "http") -> dict[str, object]:
    """Return as much of a request as is checked."""
    headers = [(b"host", host.encode())]
    if origin is not None:
        headers.append((b"origin", origin.encode()))
    return {"headers": headers, "scheme": scheme}


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1:8791", "localhost:8791", "LOCALHOST", "[::1]:8791", "sayso.example", "10.0.0.7:1"],
)
def test_our_own_names_are_let_in(host: str) -> None:
    """Addresses, localhost and the configured names; the port is not checked."""
    check_site(scope(host), SECTION)


@rows(
    "host",
    [
        *("evil.example", "evil.example:8791", "localhost.evil.example", "sayso.example.evil.org"),
        *("127.0.0.1.evil.example", "127.0.0.1:8791@evil.example", "evil", "localhost.", ""),
        *("2130706433.evil.example", "0x7f.1", "[::1", "127.0.0.1:8791, evil.example", "::1"),
    ],
)
def test_a_rebound_name_is_refused(host: str) -> None:
    """A page whose name was pointed at this machine has its own name in Host (DNS rebinding)."""
    with pytest.raises(Fault, match="Host"):
        check_site(scope(host), SECTION)


def test_a_missing_or_doubled_host_is_refused() -> None:
    """One Host, exactly."""
    for headers in ([], [(b"host", b"localhost"), (b"host", b"localhost")]):
        with pytest.raises(Fault):
            check_site({"headers": headers, "scheme": "http"}, SECTION)


@pytest.mark.parametrize(
    ("host", "origin", "scheme"),
    [
        ("127.0.0.1:8791", "http://127.0.0.1:8791", "http"),
        ("127.0.0.1:8791", "http://127.0.0.1:8791", "ws"),
        ("localhost:8791", "https://localhost:8791", "wss"),
        ("127.0.0.1:8791", "https://panel.example", "ws"),
        ("127.0.0.1:8791", "HTTPS://PANEL.example", "ws"),
    ],
)
def test_our_own_pages_and_the_configured_ones_may_call(
    host: str, origin: str, scheme: str
) -> None:
    """The page that this very address serves, and the origins of the configuration."""
    check_site(scope(host, origin=origin, scheme=scheme), SECTION)


@rows(
    "origin",
    [
        *("http://evil.example", "null", "", "http://127.0.0.1:9999", "https://127.0.0.1:8791"),
        *("http://localhost:8791", "https://panel.example.evil.org", "https://panel.example/"),
        *("file://", "http://127.0.0.1:8791 http://evil.example", "https://panel.example:444"),
    ],
)
def test_another_page_is_refused(origin: str) -> None:
    """Another site, another port, another scheme, an unknown origin (CSRF)."""
    with pytest.raises(Fault, match="Origin"):
        check_site(scope("127.0.0.1:8791", origin=origin), SECTION)
