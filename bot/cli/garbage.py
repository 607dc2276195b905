"""Collect garbage rarely while a program starts: what libraries make then stays.

Looking at all of it again and again, while more is loaded, takes a sixth of a start.
"""

import gc

_USUAL = gc.get_threshold()
_RARELY = 100_000


def collect_rarely() -> None:
    """Collect once for every 100,000 objects that are made and not let go."""
    gc.set_threshold(_RARELY)


def collect_as_usual() -> None:
    """Collect as Python does by itself."""
    gc.set_threshold(*_USUAL)


def keep() -> None:
    """Look at nothing again that is there now, and collect what comes as usual."""
    gc.freeze()
    collect_as_usual()
