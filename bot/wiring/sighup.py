"""Distinguish the two meanings of SIGHUP: the terminal closed, or somebody changed the settings.

A gateway whose standard input is the terminal that controls it runs in the foreground: SIGHUP means
that this terminal is gone, and stops it. Any other gateway reloads its configuration: a service,
one whose input comes from elsewhere, one started by ``nohup``.
"""

import asyncio
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:  # slow to import; the signal is blocked before anything slow is imported
    from bot.service.notify import Notifier
    from bot.wiring.reload import Reloading

HANGUP = frozenset({signal.SIGHUP})
ALL = HANGUP | {signal.SIGTERM, signal.SIGINT}
_STANDARD = (0, 1, 2)


@dataclass(slots=True)
class Hangup:
    """What SIGHUP means here. ``terminal`` are the descriptors that go with a closed terminal."""

    foreground: bool
    terminal: tuple[int, ...]
    _wanted: asyncio.Event = field(default_factory=asyncio.Event)

    @classmethod
    def here(cls) -> Self:
        """Inspect this process, and block SIGHUP until it is handled.

        A gateway that is still starting must neither die from a reload nor miss it.
        """
        signal.pthread_sigmask(signal.SIG_BLOCK, HANGUP)
        return cls(_in_foreground(), tuple(fd for fd in _STANDARD if os.isatty(fd)))

    def listen(self, stop: asyncio.Event) -> None:
        """Handle the signals of this process from now on; ``stop`` is set to end it."""
        loop = asyncio.get_running_loop()
        # The kernel may still see a thread that was joined. By then the loop has closed, and a
        # signal delivered to this thread would end the process by default.
        loop.set_default_executor(
            ThreadPoolExecutor(
                thread_name_prefix="asyncio",
                initializer=signal.pthread_sigmask,
                initargs=(signal.SIG_BLOCK, signal.valid_signals()),
            )
        )
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        loop.add_signal_handler(signal.SIGHUP, self.hear, stop)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HANGUP)

    @staticmethod
    def end() -> None:
        """Ignore signals from now on: a process that ended in order must not die from one.

        Blocking alone is not enough: a library's thread may still take one, and once the loop has
        closed, SIGINT would raise ``KeyboardInterrupt`` here.
        """
        signal.pthread_sigmask(signal.SIG_BLOCK, ALL)
        loop = asyncio.get_running_loop()
        for number in ALL:
            loop.remove_signal_handler(number)  # closing the loop would restore the default
            signal.signal(number, signal.SIG_IGN)

    def hear(self, stop: asyncio.Event) -> None:
        """Handle SIGHUP."""
        if self.foreground:
            let_go(self.terminal)
            stop.set()
        else:
            self._wanted.set()

    async def reloads(self, reloading: "Reloading", notifier: "Notifier") -> None:
        """Reload for as long as the task runs, once for signals that come together."""
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            notifier.reloading()
            await reloading.reload()
            notifier.ready()


def let_go(terminal: tuple[int, ...]) -> None:
    """Redirect further output: on a closed terminal each write fails, and so does the exit."""
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for fd in terminal:
        os.dup2(null, fd)
    os.close(null)


def _in_foreground() -> bool:
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        return False  # nohup
    try:
        os.tcgetpgrp(0)
    except OSError:
        return False  # no terminal, or not the one that controls this process
    return True
