"""Write the table of routes in ``docs/reference/http.md`` from the routes themselves."""

from pathlib import Path

from bot.api.rest.routes import ROUTES
from tests.project import methods_reference

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "http.md"

_HEAD = "| Route | Method | What it does |\n| --- | --- | --- |\n"


def page() -> str:
    """Return the text of the page with its table made anew."""
    before, head, rest = PAGE.read_text(encoding="utf-8").partition(_HEAD)
    assert head, f"{PAGE} has no table of routes; its head is {_HEAD!r}"
    after = rest[rest.index("\n\n") + 1 :]
    table = methods_reference.table()
    rows = "".join(
        f"| `{route.verb} {route.path}` | `{route.method}` "
        f"| {route.about or table[route.method].summary} |\n"
        for route in ROUTES
    )
    return f"{before}{head}{rows}{after}"
