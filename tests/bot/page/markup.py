"""Parse a page as a browser would, far enough to tell text from markup."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

_VOID = frozenset({"input", "link", "meta", "br", "hr", "img"})


@dataclass(slots=True)
class Element:
    """One element: its tag, attributes, and the text inside it."""

    tag: str
    attributes: dict[str, str]
    text: str = ""


@dataclass
class Markup(HTMLParser):
    """All elements of a page in order."""

    elements: list[Element] = field(default_factory=list)
    _open: list[Element] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Start reading."""
        super().__init__(convert_charrefs=True)

    @classmethod
    def of(cls, html: str) -> "Markup":
        """Read a page."""
        made = cls()
        made.feed(html)
        made.close()
        return made

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record an element."""
        found = Element(tag, {name: value or "" for name, value in attrs})
        self.elements.append(found)
        if tag not in _VOID:
            self._open.append(found)

    def handle_endtag(self, tag: str) -> None:
        """Close the elements down to this one."""
        while self._open and self._open.pop().tag != tag:
            pass

    def handle_data(self, data: str) -> None:
        """Add text to every element around it."""
        for element in self._open:
            element.text += data

    @property
    def shape(self) -> list[tuple[str, tuple[str, ...]]]:
        """Return the tags with the names of their attributes: what no text may change."""
        return [(one.tag, tuple(sorted(one.attributes))) for one in self.elements]

    def first(self, tag: str, **attributes: str) -> Element:
        """Return the first element with a tag and attributes; ``class_`` means class."""
        wanted = {name.rstrip("_"): value for name, value in attributes.items()}
        return next(
            one
            for one in self.elements
            if one.tag == tag and wanted.items() <= one.attributes.items()
        )
