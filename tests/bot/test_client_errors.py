"""Whoever gets no answer is told whether the request may be repeated."""

from pathlib import Path

import pytest

from bot.client_errors import unanswered, unreachable
from core.model.access import Scope
from tests.project.methods_reference import table
from tests.support.tables import rows

ROOT = Path(__file__).parents[2]
_CALLING = "".join(
    one.read_text() for top in ("cli", "doctor") for one in (ROOT / "bot" / top).rglob("*.py")
)
READ = sorted(
    name
    for name, method in table().items()
    if Scope.READ in method.scopes and f'"{name}"' in _CALLING
)
"""Methods of commands that change nothing: what `read` opens, see ``test_caller_tokens``."""
_DOUBT = "see whether it did before you repeat the command"


@rows("method", READ)
def test_what_only_reads_may_be_repeated(method: str) -> None:
    """By its name, or because it is listed."""
    said = str(unanswered("/run/gateway.sock", TimeoutError(), method))
    assert _DOUBT not in said, f"add {method!r} to _HARMLESS in bot/client_errors.py"


def test_what_is_not_known_to_be_harmless_is_looked_up_first() -> None:
    """The control: a method that makes something, and one that nobody has listed."""
    for method in ("token.create", "some.method"):
        assert _DOUBT in str(unanswered("/run/gateway.sock", TimeoutError(), method))


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (PermissionError(13, "Permission denied"), "cannot be used: Permission denied. Only its"),
        (PermissionError("uid 7 is listening there"), "cannot be used: uid 7 is listening there. "),
        (FileNotFoundError(2, "No such file"), "No gateway is listening on /run/gateway.sock. Run"),
        (ConnectionRefusedError(111, "refused"), "No gateway is listening on /run/gateway.sock. "),
    ],
)
def test_a_socket_that_may_not_be_used_is_not_called_absent(error: OSError, said: str) -> None:
    """A gateway may well be running there; starting another one is no advice."""
    told = str(unreachable("/run/gateway.sock", error))
    assert said in told
    assert ("sayso serve" in told) is not isinstance(error, PermissionError)
