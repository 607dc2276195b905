"""Ask in this terminal: a framed prompt, and answers read line by line without blocking.

A single letter answers the one open prompt. With several open it answers none, since the letter may
have been typed for another one; and what was half typed when a new prompt appears is discarded. A
letter also allows nothing right after the questions have changed: the requester chooses the moment,
and could put another command under a finger that is already on its way.
"""

import asyncio
import contextlib
import os
import select
import termios
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import TextIO

from channels.base import Health, Inbound, Inbox
from channels.cards.card import NoticeCard, OutcomeCard, PromptCard
from channels.commands import Approve, BareReply, Command, Malformed
from channels.grammar import parse
from channels.terminal.card import ASCII_FRAMES, Page, outcome_lines, prompt_lines, wrapped
from core.errors import ChannelError, SaysoError
from core.ipc.users import user_name
from core.model.approval import ApprovalReply
from core.model.identity import Actor, Target, code_of
from core.text.render import Redacted

_LETTERS = {
    "a": ApprovalReply.ALLOW_ONCE,
    "A": ApprovalReply.ALLOW_ALWAYS,
    "d": ApprovalReply.DENY,
}
_USAGE = "Not understood. Type a (allow once), A (allow always), d (deny), or /approve CODE …"
_NONE_OPEN = "No prompt is open here."
_END_OF_INPUT = Redacted(
    "End of input: answers are no longer read here. Answer with `sayso approve` in another "
    "terminal, or stop with Ctrl-C."
)
_TOO_SOON = "What is asked just changed, so nothing was allowed: read it, then type again."
UNREAD_S = 1.0
"""Seconds after a change of the open questions in which nobody can have read the new ones."""
_READ_BYTES = 65_536
_LONGEST_LINE = 65_536
_MOST_NAMED = 4


@dataclass(slots=True)
class TerminalChannel:
    """Prompts on ``output``, answers from ``input``; both are closed by whoever opened them.

    Colours and screen widths are used only if ``output`` is a terminal. The actor is the
    terminal's user, ``uid:<n>``. A ``width`` of 0 is the terminal's own, or 80 columns. ``clock``
    is in seconds and never goes back.
    """

    input: TextIO
    output: TextIO
    name: str = "terminal"
    width: int = 0
    clock: Callable[[], float] = time.monotonic
    _inbox: Inbox | None = None
    _open: dict[str, Target] = field(default_factory=dict)
    _changed: float = -UNREAD_S
    _buffer: bytes = b""
    _began: float = 0.0
    _ended: bool = False
    _watching: bool = False
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))
    _under_way: set[asyncio.Task[None]] = field(default_factory=set)
    _run: str = field(default_factory=lambda: os.urandom(8).hex())

    async def start(self, inbox: Inbox) -> None:
        """Start to read answers; lines typed earlier wait in the terminal and count."""
        self._inbox = inbox
        loop = asyncio.get_running_loop()
        try:
            loop.add_reader(self.input.fileno(), self._read)
            self._watching = True
        except PermissionError:
            # A regular file is always readable and epoll refuses it.
            loop.call_soon(self._read_all)

    async def stop(self) -> None:
        """Stop reading, and let answers in progress be committed."""
        self._unwatch()
        self._inbox = None
        if self._under_way:
            await asyncio.gather(*self._under_way, return_exceptions=True)

    async def check(self) -> Health:
        """Return whether anybody could answer here."""
        if self._inbox is None:
            return Health(ok=False, detail="not started")
        if self._ended:
            return Health(ok=False, detail="end of input; answer in another channel")
        return Health(ok=True, detail="reading answers")

    async def post(self, target: Target, card: PromptCard) -> str:
        """Draw a prompt; it is open until ``update`` shows how it ended."""
        self._forget_half_typed()
        self._open[card.id] = target
        self._print("", *prompt_lines(card, self._page()))
        self._changed = self.clock()
        return card.id

    async def update(self, target: Target, message: str, card: OutcomeCard) -> None:
        """Draw how a prompt ended, below what was drawn since."""
        del target  # there is only one terminal
        if self._open.pop(message, None) is not None:
            self._changed = self.clock()  # of two prompts one is left, and a letter would answer it
        self._print(*outcome_lines(card, self._page()))

    async def notify(self, target: Target, card: NoticeCard) -> str:
        """Draw a notice."""
        del target  # there is only one terminal
        self._say(card.text)
        return str(next(self._numbers))

    def open_messages(self) -> Collection[str]:
        """Return the prompts that were drawn here and have not ended."""
        return tuple(self._open)

    def _read(self) -> None:
        try:
            data = os.read(self.input.fileno(), _READ_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:  # the other end of a pseudo-terminal is gone
            data = b""
        self._take(data)
        if not data:
            self._end()

    def _end(self) -> None:
        self._ended = True
        self._unwatch()
        if self.input.isatty():
            with contextlib.suppress(ChannelError):  # the whole terminal may be gone
                self._say(_END_OF_INPUT)

    def _read_all(self) -> None:
        while not self._ended:
            self._read()

    def _take(self, data: bytes) -> None:
        now = self.clock()
        began = self._began if self._buffer else now
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        self._buffer = self._buffer[-_LONGEST_LINE:]
        for line in lines:
            # Read now, not when the task runs: another prompt may be open by then.
            command = self._timely(self._command(line.decode("utf-8", "replace").strip()), began)
            began = now
            if command is not None and self._inbox is not None:
                task = asyncio.ensure_future(self._answer(self._inbox, command, self._only()))
                self._under_way.add(task)
                task.add_done_callback(self._under_way.discard)
        self._began = began

    async def _answer(self, inbox: Inbox, command: Command, replied_to: str) -> None:
        account = f"uid:{os.getuid()}"
        actor = Actor(self.name, account, user_name(os.getuid()))
        key = f"{self.name}:{self._run}:{next(self._numbers)}"
        try:
            place = self._open.get(replied_to, Target(self.name, account))
            reply = await inbox.receive(Inbound(actor, place, command, key, replied_to))
        except SaysoError as error:
            self._say(Redacted(f"{error} Nothing was decided; type your answer again."))
            return
        self._say(reply.text)

    def _command(self, line: str) -> Command | None:
        letter, _, ref = line.partition(" ")
        if letter not in _LETTERS:
            parsed = parse(line, is_reply=bool(self._only()))
            return parsed or (Malformed(_USAGE) if line else None)
        if ref:
            return parse(f"/approve {ref} {_LETTERS[letter]}")
        if not self._only():
            return Malformed(_several(letter, self._open) if self._open else _NONE_OPEN)
        return Approve(self._only(), _LETTERS[letter])

    def _timely(self, command: Command | None, began: float) -> Command | None:
        """Refuse to allow a prompt without its code, if typed before anybody could read it."""
        if began >= self._changed + UNREAD_S:
            return command
        match command:
            case Approve(typed=False, reply=reply) | BareReply(reply=reply):
                return command if reply is ApprovalReply.DENY else Malformed(_TOO_SOON)
            case _:
                return command

    def _only(self) -> str:
        return next(iter(self._open)) if len(self._open) == 1 else ""

    def _forget_half_typed(self) -> None:
        if self._inbox is None or self._ended or not self.input.isatty():
            return
        # Whole lines were typed for what was shown before: they count; each read returns one.
        while self._has_input():
            self._read()
        termios.tcflush(self.input.fileno(), termios.TCIFLUSH)

    def _has_input(self) -> bool:
        return not self._ended and bool(select.select([self.input], [], [], 0)[0])

    def _unwatch(self) -> None:
        if self._watching:
            asyncio.get_running_loop().remove_reader(self.input.fileno())
            self._watching = False

    def _page(self) -> Page:
        terminal = self.output.isatty()
        plain = os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") == "dumb"
        columns = os.get_terminal_size(self.output.fileno()).columns if terminal else 0
        return Page(self.width or columns or 80, colours=terminal and not plain)

    def _say(self, text: Redacted) -> None:
        self._print(*wrapped(text.text, self._page().width))

    def _print(self, *lines: str) -> None:
        encoding = self.output.encoding or "utf-8"
        text = "".join(f"{line}\n" for line in lines)
        if not encoding.lower().startswith("utf"):
            text = text.translate(ASCII_FRAMES)
        try:
            self.output.write(text.encode(encoding, "backslashreplace").decode(encoding))
            self.output.flush()
        except (OSError, ValueError) as error:
            raise ChannelError(
                f"The terminal cannot be written: {error}.", permanent=True
            ) from error


def _several(letter: str, opened: Collection[str]) -> str:
    """Format which prompts a letter may mean, the newest first, as they are to be typed."""
    newest = [code_of(one) for one in opened][::-1]
    named = ", ".join(f"`{letter} {code}`" for code in newest[:_MOST_NAMED])
    more = f" ({len(opened) - _MOST_NAMED} more: /pending)" if len(opened) > _MOST_NAMED else ""
    return f"Several prompts are open, so nothing was answered. Name one: {named}{more}"
