"""Report how the gateway is, part by part; asking often costs the platforms nothing.

::

    report     all parts together, as `health.get`, /health and `sayso doctor` show them
    check      how a check ended, kept for a while; `sayso doctor` makes the same findings
    store      a write that reaches the disk, its time, the room that is left, the store's clock
    looks      whether the wall clock jumped; what each platform says, asked once a minute at most;
               the backend that encloses commands, where that is wanted
    nodes      which other machines are connected
    gate       the last proof of each entry point, and whether all is locked down
"""

from bot.health.check import Check, Finding, Kept, Verdict
from bot.health.report import Health

__all__ = ["Check", "Finding", "Health", "Kept", "Verdict"]
