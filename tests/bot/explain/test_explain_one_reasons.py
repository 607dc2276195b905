"""Have words for whatever the policy can say, in `policy explain` and the reference."""

from pathlib import Path

from bot.explain.explain_one import _ADVICE
from core.model.decision import Reason
from core.policy.judge.reasons import WHY
from tests.support.tables import rows

DENIALS = Path(__file__).parents[3] / "docs/reference/denials.md"


@rows("reason", Reason)
def test_each_reason_has_its_words(reason: Reason) -> None:
    """A new one says why, and what would make the command pass."""
    assert reason in WHY
    assert reason in _ADVICE
    assert f"| `{reason}` |" in DENIALS.read_text(encoding="utf-8")
