"""Whoever gets no answer is told whether the request may be repeated."""

from pathlib import Path

from bot.client_errors import unanswered
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
