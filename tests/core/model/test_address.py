"""Read addresses of this machine, and no others."""

import pytest

from core.model.address import Address
from tests.support.tables import rows


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:8793", Address(host="127.0.0.1", port=8793)),
        ("127.9.9.9:65535", Address(host="127.9.9.9", port=65_535)),
        ("[::1]:0", Address(host="::1", port=0)),
        ("unix:/run/x.sock", Address(path="/run/x.sock")),
    ],
)
def test_an_address_is_read_and_written(text: str, address: Address) -> None:
    """It is written as it was read."""
    assert Address.parse(text) == address
    assert str(address) == text


@rows(
    "text, why",
    [
        ("unix:run/x.sock", "absolute"),
        ("unix:/run/x\n", "absolute"),
        ("127.0.0.1:65536", "PORT"),
        ("127.0.0.1:-1", "PORT"),
        ("127.0.0.1:\u0661", "PORT"),
        ("127.0.0.1:", "PORT"),
        ("127.0.0.1", "PORT"),
        ("10.0.0.1:80", "loopback"),
        ("localhost:80", "loopback"),
        (":80", "loopback"),
    ],
)
def test_other_addresses_are_refused(text: str, why: str) -> None:
    """A name may lead elsewhere tomorrow, so it is none."""
    with pytest.raises(ValueError, match=why):
        Address.parse(text)
