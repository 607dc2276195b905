"""The section ``http`` is strict."""

import pytest
from pydantic import ValidationError

from core.settings import HttpSection


@pytest.mark.parametrize("listen", ["127.0.0.1:0", "[::1]:65535", "localhost:8791"])
def test_an_address_is_a_host_and_a_port(listen: str) -> None:
    """Up to the highest existing port."""
    assert HttpSection.model_validate({"listen": listen}).listen == listen


@pytest.mark.parametrize("listen", ["8791", "127.0.0.1:65536", "127.0.0.1", "::1:8791", "a b:1"])
def test_another_address_is_refused(listen: str) -> None:
    """The settings do not load; nothing listens elsewhere instead."""
    with pytest.raises(ValidationError, match="must be HOST:PORT"):
        HttpSection.model_validate({"listen": listen})
