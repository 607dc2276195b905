"""Find a TCP port for a server that is started, or started again, later.

The kernel never gives one of these to somebody who names none: a test beside this one cannot have
it in the meantime.
"""

import random
import socket
from pathlib import Path

_FIRST = 11_000
"""Browsers refuse some that are lower."""
_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_port() -> int:
    """Return a port of loopback that nobody listens on, below those that the kernel gives."""
    below = int(_RANGE.read_text().split()[0])
    dice = random.SystemRandom()  # tests at the same time must not draw the same ones
    while True:
        port = dice.randrange(_FIRST, below)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
