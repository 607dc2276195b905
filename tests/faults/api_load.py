"""Throw requests at an API: valid ones, wrong ones, and those that schemathesis generates."""

import asyncio
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import httpx
from websockets.asyncio.client import connect

LIMITS = {
    "rate": 100_000,
    "burst": 100_000,
    "addressRate": 100_000,
    "addressBurst": 100_000,
    "failures": 1_000_000,
    "longestWait": 0.05,
    "longestStream": 0.1,
}
"""Rates that refuse no one here, and waits that end soon: every request is to be served."""
_SCHEMATHESIS = str(Path(sys.executable).with_name("schemathesis"))
_SAMPLE = "zzzzzzzzzzzzzzzzzzzzzzzzzz"
_COUNTED = re.compile(r"^sayso_http_requests_total\{([^}]*)\} ([0-9.e+]+)$", re.MULTILINE)


def schemathesis(
    document: str, token: str, folder: Path, *, examples: int, seed: int, more: tuple[str, ...] = ()
) -> "subprocess.Popen[str]":
    """Start schemathesis with all its checks against a document; it exits 0 if all of them hold."""
    words = [_SCHEMATHESIS, "--no-color", "run", document, "--checks", "all"]
    words += ["-n", str(examples), "--seed", str(seed), "--continue-on-failure", "--no-shrink"]
    words += ["--generation-database", "none", "-H", f"Authorization: Bearer {token}", *more]
    folder.mkdir(exist_ok=True)
    with (folder / "schemathesis.out").open("w") as out:
        return subprocess.Popen(words, cwd=folder, stdout=out, stderr=out, text=True)


@dataclass
class Load:
    """Several clients that ask in parallel; ``seen`` counts the statuses that they got."""

    url: str
    tokens: Mapping[str, str]
    seed: int
    seen: Counter[int] = field(default_factory=Counter)
    unexpected: list[str] = field(default_factory=list)

    async def run(self, requests: int, clients: int = 8) -> None:
        """Make this many requests and no more."""
        left = iter(range(requests))
        await asyncio.gather(*(self._client(number, left) for number in range(clients)))

    async def _client(self, number: int, left: Any) -> None:
        rng = Random(self.seed * 1000 + number)
        async with httpx.AsyncClient(base_url=self.url, timeout=60) as client:
            for _ in left:
                wanted, answer = await self._one(rng, client)
                self.seen[answer.status_code] += 1
                if answer.status_code not in wanted:
                    self.unexpected.append(f"{answer.request.url} {answer.text[:300]}")

    async def _one(
        self, rng: Random, client: httpx.AsyncClient
    ) -> tuple[frozenset[int], httpx.Response]:
        kinds = (self._valid, self._wrong, self._stranger, self._runs, self._answers)
        (kind,) = rng.choices(kinds, (50, 25, 10, 10, 5))
        return await kind(rng, client)

    def _as(self, who: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.tokens[who]}"}

    async def _valid(
        self, rng: Random, client: httpx.AsyncClient
    ) -> tuple[frozenset[int], httpx.Response]:
        paths = (
            *("/health", "/metrics", "/openapi.json", "/v1/approvals?limit=5", "/v1/grants"),
            *("/v1/history?limit=20", "/v1/sessions", "/v1/allowlists", "/exec/sessions"),
            *("/v1/events?session=main&limit=5", "/v1/events/stream?session=main&seq=100000"),
        )
        path = rng.choice(paths)
        return frozenset({200}), await client.get(path, headers=self._as("reader"))

    async def _wrong(
        self, rng: Random, client: httpx.AsyncClient
    ) -> tuple[frozenset[int], httpx.Response]:
        agent = self._as("agent")
        content = (
            *(b"", b"{", b"[]", b"\xff", b'{"a": NaN}', b'{"command": 1}', b"[" * 5000),
            *(b'{"command": "true", "cwd": "/", "x": 1}', os.urandom(200), b"x" * 70_000),
        )
        if rng.random() < 0.5:
            headers = {**agent, "Content-Type": rng.choice(("application/json", "text/xml"))}
            answer = await client.post("/v1/requests", content=rng.choice(content), headers=headers)
            return frozenset({400, 413, 415}), answer
        path = rng.choice(
            (
                *(f"/v1/requests/{_SAMPLE}", "/v1/history?limit=0", "/v1/events", "/v2", "/%00"),
                *(f"/v1/runs/{_SAMPLE}/output", "/v1/history?x=1", f"/v1/{'a' * 5000}", "/v1//x"),
            )
        )
        verb = rng.choice(("GET", "GET", "PATCH", "DELETE", "TRACE"))
        return frozenset({400, 404, 405}), await client.request(verb, path, headers=agent)

    async def _stranger(
        self, rng: Random, client: httpx.AsyncClient
    ) -> tuple[frozenset[int], httpx.Response]:
        headers = rng.choice(
            (
                {},
                {"Authorization": "Bearer sayso_guess"},
                {**self._as("agent"), "Origin": "http://evil.example"},
                {**self._as("agent"), "Host": "evil.example"},
            )
        )
        token = self.tokens["agent"] if not headers else "x"
        answer = await client.get(f"/v1/history?token={token}", headers=headers)
        return frozenset({401, 403}), answer

    async def _runs(
        self, rng: Random, client: httpx.AsyncClient
    ) -> tuple[frozenset[int], httpx.Response]:
        command = rng.choice(("echo one", "true", "seq 100", "touch asked", "cat /none", "a ("))
        wish = {"command": command, "cwd": "/", "session": f"s{rng.randrange(20)}"}
        path = f"/v1/requests?wait={rng.choice((0, 1))}"
        answer = await client.post(path, json=wish, headers=self._as("agent"))
        return frozenset({201}), answer

    async def _answers(
        self, rng: Random, client: httpx.AsyncClient
    ) -> tuple[frozenset[int], httpx.Response]:
        listed = await client.get("/v1/approvals?limit=3", headers=self._as("person"))
        self.seen[listed.status_code] += 1
        ids = [one["id"] for one in listed.json()["pending"]] or [_SAMPLE]
        answer = await client.post(
            f"/v1/approvals/{rng.choice(ids)}/resolve",
            json={"decision": "deny"},
            headers=self._as("person"),
        )
        return frozenset({200, 404, 409}), answer


async def chatter(url: str, token: str, frames: int, seed: int) -> Counter[str]:
    """Send good and bad frames over WebSockets; count the answers by their code."""
    rng, found = Random(seed), Counter[str]()
    address = url.replace("http", "ws") + "/ws"
    headers = {"Authorization": f"Bearer {token}"}
    sent = 0
    while sent < frames:
        async with connect(address, additional_headers=headers) as line:
            for _ in range(min(200, frames - sent)):
                await line.send(_frame(rng))
                answer = json.loads(await line.recv())
                found[str(answer.get("error", {}).get("code", "ok"))] += 1
                sent += 1
    return found


def _frame(rng: Random) -> str:
    method = rng.choice(("events.drain", "exec.wait", "no.such", "people.list", "exec.tail"))
    whole = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"session": "a"}})
    return rng.choice((whole, whole, whole[:-5], "[]", "{}", "\x00", whole * 2))


def counted(metrics: str) -> Counter[str]:
    """Return the requests of a scrape by their status."""
    found: Counter[str] = Counter()
    for labels, number in _COUNTED.findall(metrics):
        status = re.search(r'status="(\d+)"', labels)
        assert status is not None
        found[status[1]] += int(float(number))
    return found


def five_hundreds(metrics: str) -> int:
    """Return how many requests of a scrape failed on our side."""
    return sum(number for status, number in counted(metrics).items() if status.startswith("5"))


def leaks(home: Path, secrets: Mapping[str, str]) -> list[str]:
    """Return which files of a home contain the text of a token."""
    found = []
    for path in sorted(home.rglob("*")):
        data = path.read_bytes() if path.is_file() else b""
        found += [f"{path.name}: {who}" for who, text in secrets.items() if text.encode() in data]
    return found


def resident_kib(pid: int) -> int:
    """Return the memory of a process (proc(5) VmRSS)."""
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1])
