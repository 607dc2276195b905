"""List entry points in one order, whatever was added first."""

import re
from itertools import permutations

from bot.gate_proof.entry_points import ORDER, in_order
from tests.support.gateway_process import ROOT

PAGE = ROOT / "docs/how-to/gate-proof.md"
LISTED = ["socket", "chat", "tool", "rest", "websocket", "remote 10.0.0.1:1", "remote 10.0.0.2:1"]


def test_the_order_is_that_of_the_page() -> None:
    """The page's table and the names agree."""
    table = PAGE.read_text().partition("| Entry point |")[2].partition("\n\n")[0]
    cells = re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)

    assert re.findall(r"`(\w+)", " ".join(cells)) == list(ORDER)


def test_any_order_becomes_the_one() -> None:
    """Listeners of remote exec by their addresses; what is unknown is last."""
    for first in permutations(LISTED[:5]):
        assert in_order([*reversed(LISTED[5:]), "carrier pigeon", *first]) == [
            *LISTED,
            "carrier pigeon",
        ]
