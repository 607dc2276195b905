r"""Report the gateway's state to the service manager (sd_notify(3)).

One datagram of ``KEY=value`` lines to the socket that ``$NOTIFY_SOCKET`` names; a leading ``@``
means an abstract one. A manager that is gone or slow never delays the gateway.
"""

import logging
import os
import socket
import time
from collections.abc import MutableMapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Self

_log = logging.getLogger(__name__)
_MICROSECONDS = 1_000_000


@dataclass(frozen=True, slots=True)
class Notifier:
    """Where to report: ``address`` is empty if nobody wants reports.

    ``watchdog_s`` is how long the manager waits for ``alive`` before it ends this process, ``None``
    if it never does.
    """

    address: str = ""
    watchdog_s: float | None = None

    @classmethod
    def take(cls, environ: MutableMapping[str, str]) -> Self:
        """Read the manager's variables and remove them: no command that is run may use them."""
        address = environ.pop("NOTIFY_SOCKET", "")
        period, pid = environ.pop("WATCHDOG_USEC", ""), environ.pop("WATCHDOG_PID", "")
        mine = pid in {"", str(os.getpid())}
        watched = mine and period.isdecimal() and int(period) > 0
        known = address.startswith(("/", "@"))
        return cls(address if known else "", int(period) / _MICROSECONDS if watched else None)

    def ready(self) -> None:
        """Report that requests are served, also after a reload."""
        self._send("READY=1")

    def reloading(self) -> None:
        """Report that the configuration is being read again; ``ready`` follows."""
        # By the time, the manager knows that this is the reload that it requested.
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        self._send(f"RELOADING=1\nMONOTONIC_USEC={now}")

    def stopping(self) -> None:
        """Report that nothing new is accepted."""
        self._send("STOPPING=1\nSTATUS=stopping")

    def status(self, words: str) -> None:
        """Set the line that `systemctl status` shows."""
        self._send("STATUS=" + " ".join(words.split()))

    def alive(self) -> None:
        """Restart the watchdog's timer."""
        self._send("WATCHDOG=1")

    def _send(self, text: str) -> None:
        if not self.address:
            return
        name = self.address.replace("@", "\0", 1) if self.address[0] == "@" else self.address
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
            sock.setblocking(False)
            sock.sendto(text.encode("utf-8", "replace"), name)
            return
        _log.debug("cannot reach the service manager at %s", self.address)
