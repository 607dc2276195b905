"""Find a TCP port for a server that is started, or started again, later.

The kernel never assigns one of these to a program that names none, so a test that runs at the same
time cannot take it in the meantime.
"""

import random
import socket
from pathlib import Path

_FIRST = 11_000
"""Browsers refuse some lower ones."""
_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_port() -> int:
    """Return a free loopback port, below those that the kernel assigns."""
    below = int(_RANGE.read_text().split()[0])
    dice = random.SystemRandom()  # tests that run at the same time must not draw the same ones
    while True:
        port = dice.randrange(_FIRST, below)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
