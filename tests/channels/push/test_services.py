"""Recognise the addresses of push services."""

import pytest

from channels.push.services import is_served, origin_of
from tests.support.tables import rows

KNOWN = (
    "https://fcm.googleapis.com/fcm/send/abc:def",
    "https://FCM.googleapis.com/wp/abc",
    "https://updates.push.services.mozilla.com/wpush/v2/abc",
    "https://wns2-par02p.notify.windows.com/w/?token=abc",
    "https://web.push.apple.com/abc",
    "https://fcm.googleapis.com:443/abc",
)


@pytest.mark.parametrize("endpoint", KNOWN)
def test_services_of_browsers_are_known(endpoint: str) -> None:
    """Over HTTPS; the same over plain HTTP is not."""
    assert is_served(endpoint)
    assert not is_served(endpoint.replace("https:", "http:"))


def test_the_settings_add_origins_with_their_own_port() -> None:
    """And nothing besides them."""
    more = ("http://127.0.0.1:8080",)
    assert is_served("http://127.0.0.1:8080/push", more)
    for other in ("http://127.0.0.1:8081/push", "https://127.0.0.1:8080/push", "http://127.0.0.1"):
        assert not is_served(other, more)


@rows("odd", "%;,'!$&()*+=_~^`{}|<>\"")
def test_a_host_has_plain_characters(odd: str) -> None:
    """Whatever a library makes of the others; a plain name is accepted (the control)."""
    for host in (f"a{odd}b", odd, f"evil.example{odd}x", f"a.{odd}", f"{odd}a"):
        assert not is_served(f"https://{host}.push.apple.com/x")
    assert is_served("https://a-1.b2.push.apple.com/x")


@pytest.mark.parametrize("host", ["a..push.apple.com", ".push.apple.com", "-a.push.apple.com"])
def test_a_host_has_whole_labels(host: str) -> None:
    """Neither empty ones, nor ones that begin with a hyphen, nor longer ones than DNS allows."""
    assert not is_served(f"https://{host}/x")
    assert not is_served(f"https://{'a' * 64}.push.apple.com/x")
    assert not is_served("https://web.push.apple.com./x")


@pytest.mark.parametrize("odd", ["https://[::1", "https://a:99999/", "https:///x", "https://a b/"])
def test_what_is_no_address_has_no_origin(odd: str) -> None:
    """It is refused, without an error."""
    assert origin_of(odd) == ""
    assert not is_served(odd)
