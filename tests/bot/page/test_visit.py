"""Take of a request what belongs to the page."""

import pytest
from starlette.types import Scope

from bot.page.visit import NO_FIELDS, Fields, cookies


@pytest.mark.parametrize(
    ("name", "known"),
    [("answer", True), ("reason", True), ("plan-7", True), ("plan-", False), ("other", False)],
)
def test_a_form_has_its_fields_by_name_and_by_pattern(name: str, *, known: bool) -> None:
    """A pattern is for the whole name; without one, names alone count."""
    assert Fields.of("answer reason", r"plan-[0-9]+").has(name) is known
    assert Fields.of("answer reason").has(name) is (known and "-" not in name)
    assert not NO_FIELDS.has(name)


def test_every_cookie_of_a_name_is_returned() -> None:
    """Other servers of this host set some of the same name, and odd ones."""
    lines = (b"a=1; sayso = x=y ;odd", b"sayso=z; b")
    headers = [(b"host", b"sayso=no"), *((b"cookie", one) for one in lines)]
    scope: Scope = {"headers": headers}
    assert cookies(scope, "sayso") == ("x=y", "z")
    assert cookies(scope, "c") == ()
