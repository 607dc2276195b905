"""Draw the questions in a terminal: one in front, the others in a list, one key per answer.

A key pressed just when another question comes to the front does not answer that question: for a
moment no key counts. New questions never take the place of the one that is being read.
"""

import time
import unicodedata
from collections.abc import Iterable
from typing import ClassVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Footer, Static

from bot.companion.dialog_queue import DialogQueue, Waiting
from core.companion.frames import Line
from core.model.approval import ApprovalReply

CALM_S = 0.7
"""Seconds after a question came to the front during which no key answers it."""
_TICK_S = 0.5
_KEYS = {
    ApprovalReply.ALLOW_ONCE: "a  Allow once",
    ApprovalReply.ALLOW_ALWAYS: "A  Allow always",
    ApprovalReply.DENY: "d  Deny",
}
_UNSEEN = frozenset(("Cc", "Cf", "Co", "Cs", "Zl", "Zp"))
_NOTHING_WAITS = "No question is waiting. The next one will appear here."


class CompanionScreen(App[None]):
    """The screen of `sayso companion`."""

    TITLE = "Sayso companion"
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    #list { height: auto; max-height: 8; padding: 0 1; color: $text-muted; }
    #card { border: round $primary; padding: 0 1; }
    #front, #details { margin-top: 1; }
    #command { text-style: bold; }
    #warning { color: $warning; }
    #said { color: $warning; }
    #keys { height: auto; padding: 0 1; text-style: bold; }
    #ended { height: auto; padding: 0 1; color: $text-muted; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "answer('allow-once')", "Allow once", show=False),
        Binding("A", "answer('allow-always')", "Allow always", show=False),
        Binding("d", "answer('deny')", "Deny", show=False),
        Binding("v", "details", "Details"),
        Binding("n", "step(1)", "Next"),
        Binding("p", "step(-1)", "Previous"),
        Binding("q", "quit", "Quit"),
    ]

    def __init__(self, dialogs: DialogQueue, where: str, note: str = "") -> None:
        super().__init__()
        self.dialogs = dialogs
        self.idle = f"Listening on {where}.\n{note}".strip()
        self.details = False
        self.front_id = ""
        self.front_since_s = 0.0
        self.hint = ""

    def compose(self) -> ComposeResult:
        """Compose the widgets."""
        yield Static(id="list", markup=False)
        with VerticalScroll(id="card"):
            for name in ("command", "warning", "front", "details", "said"):
                yield Static(id=name, markup=False)
        yield Static(id="keys", markup=False)
        yield Static(id="ended", markup=False)
        yield Footer()

    def on_mount(self) -> None:
        """Draw what already waits, and listen for changes from now on."""
        self.dialogs.changed = self.draw
        self.set_interval(_TICK_S, self.draw)
        self.draw()

    def on_unmount(self) -> None:
        """Stop listening for changes."""
        self.dialogs.changed = lambda: None

    def action_answer(self, reply: str) -> None:
        """Answer the question in front, unless it has only just come to the front."""
        if not self.front_id:
            return
        if time.monotonic() - self.front_since_s < CALM_S:
            self.hint = "That key came too soon after the question appeared. Press it again."
        elif self.dialogs.answer(self.front_id, ApprovalReply(reply)):
            self.hint = ""
        else:
            self.hint = "That answer is not offered here."
        self.draw()

    def action_details(self) -> None:
        """Show the other lines, or hide them."""
        self.details = not self.details
        self.draw()

    def action_step(self, by: int) -> None:
        """Bring the next or the previous question to the front."""
        waiting = list(self.dialogs.waiting)
        if self.front_id in waiting and len(waiting) > 1:
            self._bring(waiting[(waiting.index(self.front_id) + by) % len(waiting)])
            self.draw()

    def draw(self) -> None:
        """Draw the current state; nothing before the screen is mounted or after it is gone."""
        if not self.query("#ended"):
            return
        if self.front_id not in self.dialogs.waiting:
            self._bring(next(iter(self.dialogs.waiting), ""))
        front = self.dialogs.waiting.get(self.front_id)
        self._put("list", self._listed())
        self._put("ended", "\n".join(self.dialogs.ended))
        self._put("keys", "" if front is None else _keys(front))
        self._card(front)

    def _bring(self, question_id: str) -> None:
        self.front_id = question_id
        self.front_since_s = time.monotonic()
        self.details = False
        self.hint = ""
        self.query_one("#card").scroll_home(animate=False)

    def _card(self, front: Waiting | None) -> None:
        asked = None if front is None else front.question
        self.query_one("#card").border_title = "" if asked is None else _title(front)
        shown = _NOTHING_WAITS if asked is None else asked.command or "(the command is empty)"
        self._put("command", shown)
        if front is None or asked is None:
            for name in ("warning", "front", "details"):
                self._put(name, "")
            self._put("said", self.idle)
            return
        warning = "" if asked.whole else "Only the beginning: it is too long to be shown.\n"
        self._put("warning", f"{warning}{asked.warning}".strip())
        self._put("front", _lines(asked.front))
        self._put("details", _lines(asked.details) if self.details else "v  Details")
        self._put("said", self.hint or front.words)

    def _listed(self) -> str:
        waiting = list(self.dialogs.waiting.values())
        if len(waiting) < 2:  # noqa: PLR2004 - a list of one is the card itself
            return ""
        rows = (
            f"{'▶' if one.question.id == self.front_id else ' '} {one.question.code}  "
            f"{one.left_s:>4} s  {one.question.agent}: {one.question.command}".split("\n")[0]
            for one in waiting
        )
        return "\n".join((f"{len(waiting)} questions wait:", *rows))

    def _put(self, name: str, text: str) -> None:
        # A gateway escapes what could mislead. Others who know the token must not move the cursor
        # here.
        shown = Text(visible(text))
        part = self.query_one(f"#{name}", Static)
        part.update(shown)
        part.display = bool(text)


def visible(text: str) -> str:
    """Return text in which each control and format character is shown by its number."""
    return "".join(
        one if one == "\n" or unicodedata.category(one) not in _UNSEEN else f"\\u{{{ord(one):04X}}}"
        for one in text
    )


def _title(front: Waiting | None) -> str:
    if front is None:
        return ""
    return f"Allow this command?  {front.question.code} · {_clock(front.left_s)} left"


def _clock(seconds: int) -> str:
    return f"{seconds // 60}:{seconds % 60:02}"


def _keys(front: Waiting) -> str:
    if front.sent is not None:
        return f"{front.sent}: sent, waiting for the gateway"
    return "   ".join(_KEYS[one] for one in _KEYS if one in front.question.answers)


def _lines(lines: Iterable[Line]) -> str:
    width = max((len(line.label) for line in lines), default=0)
    indent = "\n" + " " * (width + 2)
    return "\n".join(
        f"{line.label:<{width}}  {line.value.replace(chr(10), indent)}" for line in lines
    )
