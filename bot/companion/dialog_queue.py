"""Keep the questions that wait for an answer, in order, and how the last ones ended."""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from core.companion.frames import Question
from core.companion.server import Dialog
from core.model.approval import ApprovalReply

_MOST_ENDED = 3


@dataclass(slots=True)
class Waiting:
    """A question on the screen. ``until_s`` is monotonic; ``sent`` is an answer without a reply."""

    dialog: Dialog
    until_s: float
    sent: ApprovalReply | None = None
    words: str = ""

    @property
    def question(self) -> Question:
        """Return what is asked."""
        return self.dialog.question

    @property
    def left_s(self) -> int:
        """Return the whole seconds that are left to answer."""
        return max(0, round(self.until_s - time.monotonic()))


def _ignore(_question: Question | None = None) -> None:
    """Ignore the event."""


@dataclass(slots=True)
class DialogQueue:
    """The dialogs of a companion: the first question stays in front until it ends.

    ``changed`` is called after every change, ``arrived`` for each new question.
    """

    changed: Callable[[], None] = _ignore
    arrived: Callable[[Question], None] = _ignore
    waiting: dict[str, Waiting] = field(default_factory=dict)
    ended: deque[str] = field(default_factory=lambda: deque(maxlen=_MOST_ENDED))

    def show(self, dialog: Dialog) -> None:
        """Add a question after those that wait."""
        asked = dialog.question
        self.waiting[asked.id] = Waiting(dialog, time.monotonic() + asked.left_ms / 1000)
        self.arrived(asked)
        self.changed()

    def replied(self, question_id: str, words: str, *, accepted: bool) -> None:
        """Show the result of an answer; one that did not count may be given again."""
        waiting = self.waiting.get(question_id)
        if waiting is not None:
            waiting.words = words
            waiting.sent = waiting.sent if accepted else None
            self.changed()

    def closed(self, question_id: str, words: str) -> None:
        """Remove a question and keep how it ended."""
        waiting = self.waiting.pop(question_id, None)
        if waiting is not None:
            self.ended.append(f"{waiting.question.code}: {words}")
            self.changed()

    def answer(self, question_id: str, reply: ApprovalReply) -> bool:
        """Send an answer once; ``False`` if it is not offered, or one is under way."""
        waiting = self.waiting.get(question_id)
        if waiting is None or waiting.sent is not None or reply not in waiting.question.answers:
            return False
        waiting.dialog.answer(reply)
        waiting.sent = reply
        waiting.words = ""
        self.changed()
        return True
