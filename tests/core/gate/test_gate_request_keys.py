"""Treat one request key as one request: a retry is answered, anything else is refused."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from core.errors import Conflict
from core.model.command import ExecOverrides
from core.model.identity import TaskId
from core.model.policy import ExecAsk, ExecHost, ExecSecurity
from core.model.result import Finished
from core.model.stdio import Capture, Stdio
from core.store.approvals import idempotency
from core.store.approvals.history_rows import history
from tests.support.gate import gate_at, layer, list_patterns, request
from tests.support.tables import rows


async def test_another_command_under_a_known_key_is_a_conflict(tmp_path: Path) -> None:
    """Allowed, asked or denied: anything else under its key is refused and leaves nothing."""
    list_patterns(tmp_path, "/usr/bin/echo")
    policy = layer(ask=ExecAsk.OFF)
    firsts = {"ran": "echo a", "asked": "touch a", "denied": "touch b"}
    for key, line in firsts.items():
        async with gate_at(tmp_path, policy if key == "denied" else None) as gate:
            await gate.submit(request(line, cwd=tmp_path, key=key))
    async with gate_at(tmp_path, owner="boot-2") as gate:
        for key, line in firsts.items():
            again = await gate.submit(request(line, cwd=tmp_path, key=key))
            with pytest.raises(Conflict, match=f"{key} belongs to run {again.run_id}"):
                await gate.submit(request("echo other", cwd=tmp_path, key=key))
        past = await gate.store.read(history, 10)

    assert {row.text for row in past} == set(firsts.values())


@rows(
    "other",
    [
        {"line": None, "argv": ("echo", "a")},
        {"line": "echo b"},
        {"cwd": "/usr"},
        {"env": (("A", "1"),)},
        {"overrides": ExecOverrides(host=ExecHost.SANDBOX)},
        {"overrides": ExecOverrides(ask=ExecAsk.ALWAYS)},
        {"overrides": ExecOverrides(security=ExecSecurity.DENY)},
        {"overrides": ExecOverrides(node="a")},
        {"timeout_ms": 5},
        {"stdio": Stdio(b"")},
        {"stdio": Stdio(capture=Capture.PTY)},
        {"task": TaskId("fix-login")},
    ],
)
def test_what_makes_a_request_another(other: dict[str, object]) -> None:
    """Every part of it that changes what runs, where, or how it is judged."""
    wish = request("echo a", key="k")
    assert idempotency.request_digest(replace(wish, **other)) != idempotency.request_digest(wish)  # type: ignore[arg-type]


def test_what_leaves_a_request_the_same() -> None:
    """A retry may print elsewhere, and without a key nothing is compared."""
    wish = request("echo a", key="k")
    apart = replace(wish, stdio=Stdio(capture=Capture.SEPARATE))
    assert idempotency.request_digest(apart) == idempotency.request_digest(wish)
    assert idempotency.request_digest(request("echo a")) is None


async def test_two_commands_under_one_key_at_once(tmp_path: Path) -> None:
    """One of them runs, the other is refused, whichever comes first."""
    list_patterns(tmp_path, "/usr/bin/echo")
    async with gate_at(tmp_path) as gate:
        wishes = [request(f"echo {name}", cwd=tmp_path, key="k") for name in ("a", "b")]
        ends = await asyncio.gather(*map(gate.submit, wishes), return_exceptions=True)
        past = await gate.store.read(history, 10)

    assert {type(end) for end in ends} == {Finished, Conflict}
    assert len(past) == 1
