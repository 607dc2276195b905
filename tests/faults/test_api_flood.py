"""Flood the API of a real gateway process: schemathesis, a load of valid traffic, bad frames.

``SAYSO_API_REQUESTS=100000`` is the setting of issue 5; ``make test`` makes fewer.
"""

import asyncio
import json
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.faults.api_load import (
    LIMITS,
    Load,
    chatter,
    counted,
    five_hundreds,
    leaks,
    resident_kib,
    schemathesis,
)
from tests.support.api_gateway import configure, made_before
from tests.support.gateway_process import GatewayProcess
from tests.support.waiting import wait_until

REQUESTS = int(os.environ.get("SAYSO_API_REQUESTS", "1500"))
PATIENCE_S = 60 + REQUESTS // 10
SMALL = 5000
ROUNDS = 4
MOST_GROWTH_KIB = 12 * 1024
"""Memory that the last half of the load may add: allocators keep what they once had."""


@dataclass
class Flooded:
    """A gateway process with its API, and the tokens of its callers."""

    process: GatewayProcess
    url: str
    tokens: dict[str, str]

    @property
    def metrics(self) -> str:
        """Return what the gateway counted."""
        headers = {"Authorization": f"Bearer {self.tokens['reader']}"}
        return httpx.get(f"{self.url}/metrics", headers=headers, timeout=30).text

    @property
    def memory(self) -> int:
        """Return the gateway's memory in KiB."""
        assert self.process.process is not None
        return resident_kib(self.process.process.pid)


@pytest.fixture
def flooded(tmp_path: Path) -> Iterator[Flooded]:
    """Run a gateway process with an API."""
    home = tmp_path / "home"
    # A stream's length also bounds a remote run (503): long enough on a busy machine.
    longest = 0.3 if REQUESTS <= SMALL else 2.0
    configure(home, limits={**LIMITS, "bodyBytes": 65_536, "longestStream": longest})
    tokens = asyncio.run(made_before(home))
    running = GatewayProcess(home, real=True)  # its memory is measured
    running.start()
    found = wait_until("the API", lambda: re.search(r"API is at (\S+)", running.log.read_text()))
    try:
        yield Flooded(running, found[1], tokens)
    finally:
        assert running.stop() == 0


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.timeout(PATIENCE_S)
def test_a_flood_breaks_nothing_tells_nothing_and_stays(flooded: Flooded, tmp_path: Path) -> None:
    """No 5xx, the document true, no token in any file, no growth of memory."""
    memory = []
    for number in range(ROUNDS):
        makers = _makers(flooded, tmp_path, number)
        asyncio.run(_load(flooded, REQUESTS // 2 // ROUNDS, number))
        for folder, maker in makers.items():
            code = maker.wait(PATIENCE_S)
            assert code == 0, (folder / "schemathesis.out").read_text()[-6000:]
        memory.append(flooded.memory)
    while (missing := REQUESTS - counted(flooded.metrics).total()) > 0:
        asyncio.run(_load(flooded, missing, ROUNDS + missing))
    memory.append(flooded.memory)
    text = flooded.metrics
    print(f"{counted(text).total()} requests: {dict(sorted(counted(text).items()))}")
    print(f"memory after each round (MiB): {[kib // 1024 for kib in memory]}")

    assert five_hundreds(text) == 0
    assert counted(text).total() >= REQUESTS
    assert leaks(flooded.process.home, flooded.tokens) == []
    assert memory[-1] - memory[ROUNDS // 2 - 1] < MOST_GROWTH_KIB, memory
    health = httpx.get(f"{flooded.url}/health", timeout=30)
    assert health.json() == {"ok": True, "status": "up"}


def _makers(flooded: Flooded, folder: Path, number: int) -> dict[Path, "subprocess.Popen[str]"]:
    """Start schemathesis: in a small flood once, in a large one in each round for each token."""
    who: tuple[str, ...]
    if REQUESTS <= SMALL:
        who, phases, examples = ("agent",) if number == 0 else (), "fuzzing", 4
    else:
        # Coverage alone makes about a thousand requests for each token.
        who, phases = ("agent", "person", "admin"), "coverage,fuzzing,stateful"
        examples = REQUESTS // 2500
    return {
        folder / one: schemathesis(
            f"{flooded.url}/openapi.json",
            flooded.tokens[one],
            folder / one,
            examples=examples,
            seed=number,
            more=("--phases", phases),
        )
        for one in who
    }


async def _load(flooded: Flooded, requests: int, seed: int) -> None:
    load = Load(flooded.url, flooded.tokens, seed)
    frames = max(20, requests // 10)
    _, codes = await asyncio.gather(
        load.run(requests), chatter(flooded.url, flooded.tokens["agent"], frames, seed)
    )
    assert load.unexpected == []
    assert codes.total() == frames
    assert "-32603" not in codes, "internal error"


@pytest.mark.deep
def test_a_false_document_is_seen(flooded: Flooded, tmp_path: Path) -> None:
    """Negative control: leave out a status and a key of an answer; schemathesis reports both."""
    document = httpx.get(f"{flooded.url}/openapi.json", timeout=30).json()
    del document["paths"]["/v1/requests"]["post"]["responses"]["201"]
    schema = document["components"]["schemas"]["SessionAnswer"]
    del schema["properties"]["lastSeq"]
    schema["required"].remove("lastSeq")
    (tmp_path / "false.json").write_text(json.dumps(document))
    asyncio.run(_load(flooded, 40, 1))

    maker = schemathesis(
        str(tmp_path / "false.json"),
        flooded.tokens["agent"],
        tmp_path,
        examples=5,
        seed=1,
        more=("--url", flooded.url, "--phases", "fuzzing", "--include-path-regex", "requests|sess"),
    )

    assert maker.wait(150) == 1
    told = (tmp_path / "schemathesis.out").read_text()
    assert "ST103 Undocumented status code" in told
    assert "ST108 Response violates schema" in told


def test_the_checks_themselves_see_a_fault(tmp_path: Path) -> None:
    """Negative control: a 5xx in the counters and a token in a log are found."""
    row = 'sayso_http_requests_total{{method="GET",route="/x",status="{}"}} {}\n'

    assert five_hundreds(row.format(200, "3.0") + row.format(503, "2.0")) == 2
    assert counted(row.format(200, "3.0")).total() == 3
    (tmp_path / "log").write_text("x sayso_secret y")
    assert leaks(tmp_path, {"agent": "sayso_secret"}) == ["log: agent"]
