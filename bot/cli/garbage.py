"""Collect garbage rarely while a program starts, since what libraries create then stays.

Traversing all of it again and again, while more is loaded, takes a sixth of the start.
"""

import gc

_USUAL = gc.get_threshold()
_RARELY = 100_000


def collect_rarely() -> None:
    """Collect once for every 100,000 objects that are created and not freed."""
    gc.set_threshold(_RARELY)


def collect_as_usual() -> None:
    """Collect with Python's default thresholds."""
    gc.set_threshold(*_USUAL)


def keep() -> None:
    """Exempt all present objects from collection, and collect later ones as usual."""
    gc.freeze()
    collect_as_usual()
