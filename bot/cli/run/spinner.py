"""Show that somebody is asked, where, how to answer, and how much time is left."""

import os
from time import monotonic, time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_PLAIN_FRAMES = "|/-\\"
_TICK_MS = 120
_PLACES = 2
_MARGIN = 1
_NARROWEST = 20
_YELLOW, _PLAIN = "\x1b[33m", "\x1b[0m"
_CLEAR = "\r\x1b[K"
_DONE = frozenset(("sent", "stale", "closed"))


class Notice:
    """One line for callers without a terminal: who is asked, if no answer came within a second.

    It has the methods of `Spinner`.
    """

    tick_ms = 250
    quiet_ms = 1000

    def __init__(self) -> None:
        self.shown = False
        self._said = ""
        self._status: dict[str, Any] = {}

    def show(self, status: "dict[str, Any]") -> None:
        """Record what is asked; any other status ends it."""
        self.shown = status["status"] == "pending" and status["code"] != self._said
        self._status = status

    def sent_to(self, copies: "list[dict[str, Any]]") -> None:
        """Print where the question went, unless it has ended."""
        if not self.shown:
            return
        self.shown = False
        self._said = code = self._status["code"]
        where = _places(copies)
        asked = f"asked {where}, " if where else ""
        left = _left(self._status["deadlineMs"])
        words = f"waiting for a person to answer {code} ({asked}{left} left); {_how(self._status)}"
        try:
            _write(f"sayso: {words}\n")
        except OSError:
            return  # nobody reads it; the run continues

    def tick(self) -> None:
        """Draw nothing: the line stays as written."""

    def hide(self) -> None:
        """Print nothing from now on."""
        self.shown = False


class Spinner:
    """One line on standard error that is redrawn repeatedly, and erased before other output.

    A terminal that cannot do that (``TERM=dumb``) gets only the line above it, which stays.
    """

    tick_ms = _TICK_MS
    quiet_ms = 0

    def __init__(self) -> None:
        self.shown = False
        self._dumb = os.environ.get("TERM", "dumb") == "dumb"
        self._coloured = not os.environ.get("NO_COLOR") and not self._dumb
        self._frames = _FRAMES if _speaks_utf8() else _PLAIN_FRAMES
        self._code = ""
        self._deadline_ms = 0
        self._where = ""
        self._drawn = False

    def show(self, status: "dict[str, Any]") -> None:
        """Print once what is asked, then draw it; any other status ends it."""
        if status["status"] != "pending":
            self.hide()
            return
        if self._code != status["code"]:
            self.hide()
            self._code = status["code"]
            _write(f"sayso: asking a person ({self._code}); {_how(status)}\n")
        self._deadline_ms = status["deadlineMs"]
        self.shown = not self._dumb
        self.tick()

    def sent_to(self, copies: "list[dict[str, Any]]") -> None:
        """Record where the question went."""
        self._where = _places(copies)

    def tick(self) -> None:
        """Draw the current state."""
        if not self.shown:
            return
        frame = self._frames[int(monotonic() * 1000 / _TICK_MS) % len(self._frames)]
        text = f"{frame} {self._words()}"[: max(_NARROWEST, _columns() - _MARGIN)]
        _write(_CLEAR + (f"{_YELLOW}{text}{_PLAIN}" if self._coloured else text))
        self._drawn = True

    def hide(self) -> None:
        """Erase the line."""
        self.shown = False
        if self._drawn:
            self._drawn = False
            _write(_CLEAR)

    def _words(self) -> str:
        where = f"asked {self._where}" if self._where else "waiting for the answer"
        return f"{where} · {_left(self._deadline_ms)} left"


def _how(status: "dict[str, Any]") -> str:
    """Return how to answer: here, if anybody may, else where it can be answered."""
    answers = status.get("answers")
    if answers is None or "terminal" in answers:
        code = status["code"]
        ways = f"`sayso approve {code} allow-once` or `sayso deny {code}`"
        return f"answer in another terminal: {ways}"
    if "api" in answers:
        return "answer over the API or in a chat that was asked; not on this machine"
    return "answer in a chat that was asked; not on this machine"


def _left(deadline_ms: int) -> str:
    left = max(0, round(deadline_ms / 1000 - time()))
    return f"{left // 60}:{left % 60:02}"


def _places(copies: "list[dict[str, Any]]") -> str:
    """Return the places that received the question, at most two, and how many more there are."""
    places = dict.fromkeys(_place(one) for one in copies if one["state"] in _DONE)
    named = list(places)[:_PLACES]
    more = len(places) - len(named)
    return ", ".join(named) + (f" and {more} more" if more > 0 else "")


def _place(copy: "dict[str, Any]") -> str:
    return f"{copy['channel']} {copy['to']}".strip()


def _columns() -> int:
    try:
        return os.get_terminal_size(2).columns or 80
    except OSError:
        return 80


def _speaks_utf8() -> bool:
    locale = os.environ.get("LC_ALL") or os.environ.get("LC_CTYPE") or os.environ.get("LANG") or ""
    return "utf-8" in locale.lower() or "utf8" in locale.lower()


def _write(text: str) -> None:
    os.write(2, text.encode("utf-8", "replace"))
