"""Walk the connectors of a line as a shell does, without one. Pure; stdlib leaf modules only."""

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

    A pipeline that is passed over leaves the status as it was; flat ``&&`` and ``||`` walked so
    from left to right are exactly the shell's equal-precedence lists.
    """
    if connector == AND:
        return status == 0
    if connector == OR:
        return status != 0
    return True
