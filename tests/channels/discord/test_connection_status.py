"""Track whether answers get through."""

import asyncio

from channels.discord.connection_status import Status


async def test_a_connection_fails_for_good_only_if_it_said_so() -> None:
    """One that is being made, or was lost, may succeed; a session forgets what was before."""
    status = Status()
    assert (status.problem, status.permanent) == ("connecting", False)

    status.fails("the token is refused", permanent=True)
    assert (status.problem, status.permanent) == ("the token is refused", True)
    await asyncio.wait_for(status.tried.wait(), 1)

    status.established()
    assert (status.problem, status.permanent) == ("", False)

    status.fails("the network is away")
    assert (status.problem, status.permanent) == ("the network is away", False)
