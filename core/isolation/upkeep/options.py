"""Say how executors are kept."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """How executors are kept; ``build`` is what an executor of this version is called.

    ``warm_spare`` keeps one for each user that ran something within ``idle_timeout_s``: started
    before it knows anything, and used once, like every other.
    """

    build: str
    max_executors: int = 10
    idle_timeout_s: float = 60.0
    warm_spare: bool = False
    connection_timeout_s: float = 5.0
