"""Draw cards for a terminal; pure.

Only a left frame is drawn: a right one would break if fonts disagree on widths. Nothing is ever
cut, long lines wrap, and a command cannot contain the frame characters (``rendering`` escapes
them).
"""

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from channels.cards.card import OutcomeCard, PromptCard
from channels.cards.lines import details, front
from core.model.approval import ApprovalState

_BOLD = "1"
_COLOURS = {
    ApprovalState.PENDING: "33",
    ApprovalState.ALLOWED: "32",
    ApprovalState.DENIED: "31",
    ApprovalState.EXPIRED: "31",
    ApprovalState.CANCELLED: "31",
}
_NARROWEST = 20
_SIDE = "│ "
ASCII_FRAMES = str.maketrans("│┌└─·", "|++--")
"""What frames are drawn with if an encoding lacks their characters."""


@dataclass(frozen=True, slots=True)
class Page:
    """The drawing surface: its width in columns, and whether it shows colours."""

    width: int
    colours: bool = False

    def paint(self, text: str, code: str) -> str:
        """Return text in a colour or weight, if the page can show them."""
        return f"\x1b[{code}m{text}\x1b[0m" if self.colours else text


def prompt_lines(card: PromptCard, page: Page) -> Iterator[str]:
    """Draw a question with the answers that it accepts."""
    yield page.paint(f"┌─ Allow this command?  {card.code}", _BOLD)
    yield from _framed(card.command.text or "(the command is empty)", page, bold=True)
    if not card.whole:
        words = f"Only the beginning: {card.size:,} characters are too many to show."
        yield from _framed(words, page)
    if card.shell.text:
        yield from _framed(f"! {card.shell.text}", page)
    for lines in (front(card), details(card)):
        yield "│"
        for line in lines:
            yield from _framed(f"{line.label}: {line.value}", page)
    first, *rest = wrapped(_answers(card), page.width - len("└─ "))
    yield from (f"└─ {first}", *(f"   {line}" for line in rest))


def outcome_lines(card: OutcomeCard, page: Page) -> Iterator[str]:
    """Draw how a question ended."""
    detail = f". {card.detail}" if card.detail.text else ""
    for line in wrapped(f"{card.code} {card.headline}{detail}", page.width):
        yield page.paint(line, _COLOURS[card.state])


def wrapped(text: str, width: int) -> Iterator[str]:
    """Break text into lines of at most ``width`` columns, after a blank if there is one.

    No character is dropped: the blank stays at the end of its line.
    """
    for line in text.split("\n"):
        taken = ""
        columns = 0
        for character in line:
            size = _columns(character)
            if columns + size > max(width, _NARROWEST):
                whole = taken.rfind(" ") + 1 or len(taken)
                yield taken[:whole]
                taken = taken[whole:]
                columns = sum(map(_columns, taken))
            taken += character
            columns += size
        yield taken


def _framed(text: str, page: Page, *, bold: bool = False) -> Iterator[str]:
    for line in wrapped(text, page.width - len(_SIDE)):
        yield _SIDE + (page.paint(line, _BOLD) if bold else line)


def _answers(card: PromptCard) -> str:
    once = ["a (allow once)"] if card.approvable else []
    always = ["A (allow always)"] if card.offers_always else []
    allow = f"{', '.join([*once, *always])} or " if once or always else ""
    return f"Type {allow}d (deny), then Enter,\nor /approve {card.code} {card.replies}"


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
