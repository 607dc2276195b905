"""Let a person at a terminal make a token; a background program makes none."""

import json
import os
from pathlib import Path

import pytest

from bot.intake.callers import unix_peer
from bot.intake.callers.caller import of_peer
from core.ipc.peer import Peer, start_ticks
from core.model.access import Scope
from core.model.identity import Intake
from core.store.people import tokens
from tests.support.api_tokens import Api
from tests.support.gate import gate_at
from tests.support.terminal import terminal
from tests.support.waiting import until


async def test_a_token_is_made_for_a_person_alone(tmp_path: Path) -> None:
    """The answer says whether it was done; its text admits its holder, and nothing else does."""
    wish = {"name": "laptop", "scopes": ["admin"]}
    async with gate_at(tmp_path) as gate:
        api = Api.of(gate)
        with terminal("sleep", "30") as (process, _):
            begun = start_ticks(process.pid)
            person = Peer(process.pid, os.getuid(), os.getgid(), begun)
            await until(lambda: unix_peer.at_terminal(person))
            made = await api.call(of_peer(person), "token.create", **wish)
        ours = Peer(1, os.getuid(), os.getgid())
        refused = await api.call(of_peer(ours), "token.create", **{**wish, "name": "other"})
        known = await gate.store.read(tokens.listed)
        holder = await api.holder(str(made["token"]), Intake.HTTP)

    assert made["done"] is True
    assert refused["done"] is False
    assert "token" not in refused
    assert ["laptop"] == [one.name for one in known]
    assert holder.token == made["id"] == known[0].id


@pytest.mark.parametrize("by", ["name", "id"])
async def test_the_journal_names_the_token_that_was_revoked(tmp_path: Path, by: str) -> None:
    """Its name, whichever of name and id the caller used."""
    async with gate_at(tmp_path) as gate:
        api = Api.of(gate)
        await api.token("laptop", Scope.ADMIN)
        (made,) = await gate.store.read(tokens.listed)
        ref = "laptop" if by == "name" else made.id
        await api.call(of_peer(Peer(1, os.getuid(), os.getgid())), "token.revoke", token=ref)

    records = map(json.loads, (tmp_path / "audit.jsonl").read_text().splitlines())
    (revoked,) = (record for record in records if record["kind"] == "token")
    assert ("revoke", "laptop") == (revoked["what"], revoked["name"])
