"""Try everything against the sandbox in one go, and count; each attack has its control elsewhere.

A probe is one way that was tried: a program that tries several says `TRIED` for each.
"""

import asyncio
import re
import secrets
from pathlib import Path

import pytest

from tests.faults import sandbox_attacks as attacks
from tests.faults.sandbox_disk_attacks import HOLD_S, LIMIT, MIB, filled_in_each_way
from tests.faults.sandbox_escapes import AGAINST_FILES, AGAINST_THE_KERNEL, a_victim, vector
from tests.faults.sandbox_socket_attacks import attacked, visible
from tests.support.sandbox import HomeBeside, sandbox

FEWEST = 140
AGAINST_OTHERS = {
    "sees processes": attacks.SEES_PROCESSES,
    "has a folder's descriptor": attacks.HAS_FOREIGN_DESCRIPTORS,
    "has a socket": attacks.HAS_FOREIGN_SOCKETS,
    "makes a socket by 32-bit numbers": attacks.REACHES_A_SOCKET_BY_OLD_NUMBERS,
    "fills memory": attacks.FILLS_MEMORY,
}
IN_MEMORY = (str(Path.home()), "/var/tmp", "/dev/shm", "/dev", "/run", "/home", "/")


__all__ = ["visible"]
"""Provide a fixture."""


async def probed(house: HomeBeside, name: str, attack: str, **names: object) -> dict[str, bool]:
    """Return by name whether each probe of an attack succeeds."""
    folder = house.workspace / secrets.token_hex(4)
    folder.mkdir()
    text = (await house.run(vector(attack, **names), folder)).output.text
    ways = re.findall(r"^TRIED (.*)", text, re.MULTILINE) or [""]
    return {f"{name}: {place} {way}": "ESCAPED" in text for place, way in enumerate(ways)}


async def test_every_probe_fails(
    visible: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """At least as many as required, and no success."""
    found: dict[str, bool] = {}
    every = {**AGAINST_FILES, **AGAINST_THE_KERNEL, **AGAINST_OTHERS}
    mark = secrets.token_hex(8)
    async with sandbox(tmp_path, private_bytes=LIMIT * MIB) as house:
        names: dict[str, object] = {
            "HOME": str(house.home),
            "OUTSIDE": str(visible),
            "MARK": mark[::-1],
        }
        names |= {"SOCKET": str(visible / "s"), "PLACES": IN_MEMORY, "MANY": 5}
        with a_victim(mark):
            probes = (probed(house, name, attack, **names) for name, attack in every.items())
            for one in await asyncio.gather(*probes):
                found |= one
        for way, done in (await filled_in_each_way(house, hold_s=HOLD_S)).items():
            found[f"fills the disk: {way}"] = "ESCAPED" in done.output.text
        sockets = await attacked(house, visible, inside=True)
        reached = bool(sockets.reached) or sockets.heard > 0
        found |= {f"reaches a socket: {way}": reached for way in sockets.tried}

    successes = sorted(name for name, succeeded in found.items() if succeeded)
    with capsys.disabled():
        print(f"\n{len(found)} probes of the sandbox, {len(successes)} successes")
    assert successes == []
    assert len(found) >= FEWEST
