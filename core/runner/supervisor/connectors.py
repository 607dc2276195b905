"""Walk the connectors of a line as a shell does, without one. Pure."""

from collections.abc import Sequence

from core.runner.supervisor.protocol import Stage
from core.shell.placeholders import STATUS

PIPE = "|"
AND = "&&"
OR = "||"
THEN = ";"


def pipelines(connectors: list[str], commands: int) -> list[tuple[str, range]]:
    """Group commands into pipelines, each with the connector before it (``;`` for the first).

    Raises:
        ValueError: the number of connectors does not fit, or one is unknown.
    """
    if commands < 1 or len(connectors) != commands - 1:
        raise ValueError(f"{commands} commands cannot be joined by {len(connectors)} connectors")
    groups: list[tuple[str, range]] = []
    start, joined_by = 0, THEN
    for index, connector in enumerate(connectors, 1):
        if connector == PIPE:
            continue
        if connector not in (AND, OR, THEN):
            raise ValueError(f"`{connector}` does not join commands")
        groups.append((joined_by, range(start, index)))
        start, joined_by = index, connector
    groups.append((joined_by, range(start, commands)))
    return groups


def wanted(connector: str, status: int) -> bool:
    """Return whether the next pipeline runs after one that ended with ``status``.

    A pipeline that is skipped leaves the status as it was; flat ``&&`` and ``||`` walked this way
    from left to right are exactly the shell's equal-precedence lists.
    """
    if connector == AND:
        return status == 0
    if connector == OR:
        return status != 0
    return True


def with_status(stage: Stage, status: int) -> Stage:
    """Return a command with the status of the last pipeline (0 to 255) in the places for it."""
    if not stage["late"]:
        return stage
    return {**stage, "argv": filled(stage["argv"], stage["late"], status)}


def filled(argv: Sequence[str], late: Sequence[Sequence[int]], status: int) -> list[str]:
    """Return a vector with a status in the place of each ``STATUS`` that is ``late``.

    Raises:
        ValueError: something else is in such a place.
    """
    words = list(argv)
    for index, at in reversed(late):  # so that the places before it keep their offsets
        word = words[index]
        end = at + len(STATUS)
        if word[at:end] != STATUS:
            raise ValueError(f"there is no {STATUS} at {at} in word {index} of the command")
        words[index] = f"{word[:at]}{status}{word[end:]}"
    return words
