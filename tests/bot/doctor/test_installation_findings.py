"""Report each part once, though a gateway and the doctor look at the same ones."""

from bot.doctor.installation import _deduplicated
from bot.health.check import Finding, Verdict
from tests.support.tables import rows

GOOD, WELL = Finding(Verdict.OK, "store", "works"), Finding(Verdict.OK, "store", "answers")
BAD, WORSE = Finding(Verdict.FAIL, "store", "works"), Finding(Verdict.FAIL, "store", "is away")
HINT, OTHER = Finding(Verdict.WARN, "store", "works"), Finding(Verdict.OK, "journal", "works")


@rows(
    "found, kept",
    [
        ((GOOD, WELL), (GOOD,)),
        ((GOOD, BAD), (BAD,)),
        ((BAD, GOOD), (BAD,)),
        ((GOOD, HINT), (GOOD,)),
        ((GOOD, WORSE), (GOOD, WORSE)),
        ((BAD, WORSE), (BAD, WORSE)),
        ((WORSE, WORSE), (WORSE,)),
        ((GOOD, OTHER), (GOOD, OTHER)),
    ],
)
def test_each_part_is_reported_once(found: tuple[Finding, ...], kept: tuple[Finding, ...]) -> None:
    """With its worst result; two that do not work for different reasons are two."""
    assert _deduplicated(found) == kept
