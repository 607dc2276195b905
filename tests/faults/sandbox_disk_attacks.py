"""Fill the disk from a sandbox in every way."""

import asyncio

from core.model.result import Finished
from tests.faults import sandbox_attacks as attacks
from tests.faults.sandbox_escapes import vector
from tests.support.sandbox import HomeBeside

MIB = 1024 * 1024
LIMIT = 64
HOLD_S = 15.0
FILES, EACH = 6, 32
"""192 MiB in total; a single file may have 64."""
WAYS = (
    *("written", "removed", "mapped", "deep", "forked", "allocated"),
    *("only_mapped", "sent", "sent_twice", "by_own_table", "by_closing", "led_by_dead"),
)


async def filled_in_each_way(house: HomeBeside, *, hold_s: float) -> dict[str, Finished]:
    """Fill the private folders of as many runs at once."""
    runs = (filled(house, way, "/tmp", hold_s=hold_s) for way in WAYS)
    return dict(zip(WAYS, await asyncio.gather(*runs), strict=True))


async def filled(
    house: HomeBeside, way: str, folder: str, *, hold_s: float, **names: object
) -> Finished:
    """Fill a folder, inside; a run that lasts this long was not ended."""
    names = {"FILES": FILES, "EACH": EACH, "PAUSE": 0, **names}
    return await house.run(vector(attacks.FILLS, WAY=way, FOLDER=folder, HOLD=hold_s, **names))
