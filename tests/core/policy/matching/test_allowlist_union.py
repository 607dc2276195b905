"""Look up two allowlists as one."""

from collections.abc import Callable

import pytest

from core.model.approval import AllowlistEntry
from core.model.decision import Promise
from core.policy.matching.allowlist import Allowlist
from core.policy.matching.allowlist_union import Either
from core.policy.matching.template_element import Surroundings
from tests.support.plans import listed

HERE = Surroundings("/srv/app")
LS = ("/usr/bin/ls",)
BOUND = Promise("/usr/bin/ls", None, (("/srv/app/x", "a" * 64),))

LookUp = Callable[[Allowlist], AllowlistEntry | None]


@pytest.mark.parametrize(
    ("entry", "look_up"),
    [
        ("/usr/bin/*", lambda both: both.match(LS)),
        ("/usr/bin/ls", lambda both: both.match(LS)),
        ("/usr/bin/ls", lambda both: both.exact(LS)),
        (Promise("/usr/bin/ls", ("-l",)), lambda both: both.match_vector(LS, ("-l",), HERE)),
        (BOUND, lambda both: next(both.bound(LS, None, ("/srv/app/x",)), None)),
    ],
)
def test_an_entry_of_either_covers(entry: str | Promise, look_up: LookUp) -> None:
    """Whichever of the two contains it; if neither does, nothing matches."""
    own, other = listed(entry), listed("/usr/bin/cat")

    assert look_up(own) is not None
    assert look_up(Either(own, other)) == look_up(own)
    assert look_up(Either(other, own)) == look_up(own)
    assert look_up(Either(other, other)) is None


def test_an_exact_entry_of_the_second_comes_before_a_wildcard_of_the_first() -> None:
    """The narrower entry is named, and counted as used; else the first list's."""
    wide, narrow = listed("/usr/bin/*"), listed("/usr/bin/ls")

    found = Either(wide, narrow).match(LS)
    first = Either(wide, listed("/usr/**")).match(LS)

    assert found is not None
    assert found.pattern == "/usr/bin/ls"
    assert first is not None
    assert first.pattern == "/usr/bin/*"


def test_content_and_complaints_of_both_are_known() -> None:
    """An ignored entry of either is reported, and one with content makes it looked up."""
    plain, bound = listed("/usr/bin/ls"), listed(BOUND)

    assert not Either(plain, plain).binds
    assert Either(plain, bound).binds
    assert Either(bound, plain).binds
    assert [one.split()[0] for one in Either(listed("rg"), listed("fd")).lint()] == ["'rg'", "'fd'"]
