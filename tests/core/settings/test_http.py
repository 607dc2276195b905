"""The section ``http`` is strict."""

import pytest
from pydantic import ValidationError

from core.settings.http import HttpSection


@pytest.mark.parametrize("listen", ["127.0.0.1:0", "[::1]:65535", "localhost:8791"])
def test_an_address_is_a_host_and_a_port(listen: str) -> None:
    """Up to the highest existing port."""
    assert HttpSection.model_validate({"listen": listen}).listen == listen


@pytest.mark.parametrize("listen", ["8791", "127.0.0.1:65536", "127.0.0.1", "::1:8791", "a b:1"])
def test_another_address_is_refused(listen: str) -> None:
    """The settings do not load; nothing listens elsewhere instead."""
    with pytest.raises(ValidationError, match="must be HOST:PORT"):
        HttpSection.model_validate({"listen": listen})


_TLS = {"cert": "/c.pem", "key": "/k.pem"}


@pytest.mark.parametrize(
    ("section", "secure"),
    [
        ({}, False),
        ({"tls": _TLS}, True),
        ({"url": "https://sayso.example"}, True),
        ({"url": "http://127.0.0.1:8791", "tls": _TLS}, False),
        ({"url": "http://127.0.0.1:8791"}, False),
    ],
)
def test_whether_browsers_come_by_tls(section: dict[str, object], *, secure: bool) -> None:
    """Their address says it, as a proxy may be in front; without one, whether we serve TLS."""
    assert HttpSection.model_validate(section).is_secure is secure


@pytest.mark.parametrize("listen", ["0.0.0.0:1", "[::]:1", "192.0.2.7:1", "sayso.example:1"])
def test_other_machines_reach_it_only_on_purpose(listen: str) -> None:
    """A name may lead anywhere; loopback needs no such word."""
    with pytest.raises(ValidationError, match="public: true"):
        HttpSection.model_validate({"listen": listen})
    assert not HttpSection.model_validate({"listen": listen, "public": True}).is_loopback
    assert HttpSection.model_validate({"listen": "127.0.0.9:1"}).is_loopback


def test_nothing_is_open_unless_it_is_written() -> None:
    """No listener, no other machines, no metrics without a token; who called is logged."""
    section = HttpSection()

    opened = (section.enabled, section.public, section.metrics_open)
    assert opened == (False, False, False)
    assert section.access_log
