"""Handle SIGINT and SIGTERM: the first cancels the run, the second detaches at once.

``_signal`` is the module that ``signal`` wraps, without the enums, which cost 5 ms per start.
"""

import _signal  # type: ignore[import-not-found]  # typeshed knows the wrapper only
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

_ENDING = (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP)


class Signals:
    """The signals received; ``fd`` becomes readable with each."""

    __slots__ = ("_inlet", "fd", "received")

    def __init__(self) -> None:
        self.received: list[int] = []
        self.fd, self._inlet = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        _signal.set_wakeup_fd(self._inlet, warn_on_full_buffer=False)
        for number in _ENDING:
            # A background job was started ignoring them, and still does.
            if _signal.getsignal(number) != _signal.SIG_IGN:
                _signal.signal(number, lambda got, _: self.received.append(got))

    @property
    def detaching(self) -> int:
        """Return the signal that means to detach at once, 0 for none.

        A terminal that closes is reported twice, by the shell and by the kernel.
        """
        return next((number for number in self.received[1:] if number != _signal.SIGHUP), 0)

    def drain(self) -> None:
        """Drain ``fd`` of what woke us."""
        try:
            os.read(self.fd, 64)
        except BlockingIOError:
            return

    def close(self) -> None:
        """Restore the default actions of the signals."""
        _signal.set_wakeup_fd(-1)
        for number in _ENDING:
            if _signal.getsignal(number) != _signal.SIG_IGN:
                _signal.signal(number, _signal.SIG_DFL)
        os.close(self.fd)
        os.close(self._inlet)


def hangs_up() -> bool:
    """Return whether a closed terminal ends us; under `nohup` it does not."""
    return bool(_signal.getsignal(_signal.SIGHUP) != _signal.SIG_IGN)


def die_of(number: int) -> "NoReturn":
    """End as if killed by this signal, so that a loop in the calling shell stops, too."""
    _signal.signal(number, _signal.SIG_DFL)
    os.kill(os.getpid(), number)
    os._exit(128 + number)  # not reached, unless the signal is blocked
