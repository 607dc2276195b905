"""Make HTML in which only the page's own words are markup."""

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Html:
    """Text that is markup already."""

    text: str


def element(tag: str, look: str, *inside: Html | str) -> Html:
    """Return an element with a CSS class; plain strings in it are escaped."""
    body = "".join(one.text if isinstance(one, Html) else escape(one) for one in inside)
    return Html(f'<{tag} class="{look}">{body}</{tag}>')


def unknown(what: str) -> Html:
    """Return a mark, in red letters, where the platform would show what this page cannot."""
    return element("strong", "unknown", f"This page cannot show: {what}")


def strangers(name: str, thing: Json, known: Iterable[str]) -> list[Html]:
    """Return a mark for each non-empty field of an object that the page does not know."""
    extra = sorted(field for field in thing.keys() - set(known) if thing[field])
    return [unknown(f"{name}.{field}") for field in extra]
