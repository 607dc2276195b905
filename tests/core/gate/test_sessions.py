"""Apply a session's settings to its requests; only listed people may set them."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Connection, update

from core.approvals.routing.principals import Listing
from core.approvals.routing.senders import Senders
from core.audit.journal import AuditJournal
from core.gate.gate import Gate
from core.gate.sessions import SessionLayers, SessionRules, worded
from core.model.command import ExecOverrides
from core.model.identity import Actor, SessionKey
from core.model.policy import Elevation, ExecAsk, ExecHost, ExecSecurity, PolicyLayer
from core.model.result import Denied, Finished, Pending
from core.policy.rules.compiled import Compiled, compiled
from core.store import open_store
from core.store.people import people
from core.store.schema.people_tables import session_settings
from core.store.sessions import overrides as session_overrides
from tests.core.policy.configured_rules import rule, settings
from tests.support.gate import ANA, gate_at, list_patterns, request

MAIN = SessionKey("main")
BOB = Actor("memory", "bob", "Bob")
FULL = ExecOverrides(security=ExecSecurity.FULL)
DENY = ExecOverrides(security=ExecSecurity.DENY)


def _rules(decide: str) -> Compiled:
    return compiled(settings(rule(decide, glob="/usr/bin/uname")), "/")


@asynccontextmanager
async def ruled(home: Path, *, elevated: bool = True) -> AsyncIterator[tuple[Gate, SessionRules]]:
    """Run a gate whose sessions Ana may set."""
    async with gate_at(home) as gate:
        gate.rulebook.elevated = elevated
        senders = Senders(gate.store, Listing({"memory": frozenset({"ana"})}))
        yield gate, SessionRules(gate.store, gate.journal, senders, elevated)


async def test_knobs_hold_for_their_session_only(tmp_path: Path) -> None:
    """Asking about everything here leaves another session as it was."""
    list_patterns(tmp_path, "/usr/bin/echo")
    async with ruled(tmp_path) as (gate, rules):
        before = await gate.submit(request("echo a", cwd=tmp_path))
        done = await rules.set(MAIN, ExecOverrides(ask=ExecAsk.ALWAYS), ANA)
        here = await gate.submit(request("echo a", cwd=tmp_path))
        there = replace(request("echo a", cwd=tmp_path), session=SessionKey("other"))
        elsewhere = await gate.submit(there)
        cleared = await rules.reset(MAIN, ANA)
        after = await gate.submit(request("echo a", cwd=tmp_path))

    assert done.done
    assert "ask=always" in done.sentence
    assert cleared.done
    assert [Finished, Pending, Finished, Finished] == [
        type(result) for result in (before, here, elsewhere, after)
    ]


async def test_knobs_add_up_and_tell_who_set_them(tmp_path: Path) -> None:
    """What is not named stays; the last person is named, and each change is in the journal."""
    async with ruled(tmp_path) as (_, rules):
        await rules.set(MAIN, ExecOverrides(host=ExecHost.GATEWAY), ANA)
        await rules.set(MAIN, ExecOverrides(ask=ExecAsk.ALWAYS), ANA)
        shown = await rules.shown(MAIN)

    assert shown is not None
    assert ANA == shown.by
    assert "host=gateway ask=always" == worded(shown.overrides)
    lines = [json.loads(line) for line in (tmp_path / "audit.jsonl").read_text().splitlines()]
    assert ["host=gateway", "host=gateway ask=always"] == [
        line["set"] for line in lines if line["kind"] == "session"
    ]
    assert {"memory:ana"} == {line["by"] for line in lines}


@pytest.mark.parametrize(
    ("mode", "outcome", "expected"),
    [
        (Elevation.ON, Finished, ExecOverrides(ExecHost.GATEWAY, ExecSecurity.FULL)),
        (
            Elevation.ASK,
            Pending,
            ExecOverrides(ExecHost.GATEWAY, ExecSecurity.FULL, ExecAsk.ALWAYS),
        ),
        (
            Elevation.FULL,
            Finished,
            ExecOverrides(ExecHost.GATEWAY, ExecSecurity.FULL, ExecAsk.OFF),
        ),
    ],
)
async def test_elevated(
    tmp_path: Path, mode: Elevation, outcome: type[object], expected: ExecOverrides
) -> None:
    """Full access on the gateway host, whether it asks or not; off ends it (S0)."""
    async with ruled(tmp_path) as (gate, rules):
        assert (await rules.elevate(MAIN, mode, ANA)).done
        shown = await rules.shown(MAIN)
        result = await gate.submit(request("uname", cwd=tmp_path))
        assert (await rules.elevate(MAIN, Elevation.OFF, ANA)).done
        after = await gate.submit(request("uname -r", cwd=tmp_path))

    assert shown is not None
    assert expected == shown.overrides
    assert isinstance(result, outcome)
    assert isinstance(after, Pending)


async def test_the_approvals_file_is_stricter_than_elevated(tmp_path: Path) -> None:
    """A floor of the file holds for an elevated session as for any other."""
    floor = {"version": 1, "defaults": {"security": "deny"}, "agents": {}}
    (tmp_path / "exec-approvals.json").write_text(json.dumps(floor))
    (tmp_path / "exec-approvals.json").chmod(0o600)
    async with ruled(tmp_path) as (gate, rules):
        await rules.elevate(MAIN, Elevation.FULL, ANA)
        result = await gate.submit(request("uname", cwd=tmp_path))

    assert isinstance(result, Denied)


@pytest.mark.parametrize(
    ("earlier", "meanwhile", "expected"),
    [
        (ExecOverrides(), ExecOverrides(), None),
        (DENY, ExecOverrides(), DENY),
        (DENY, ExecOverrides(ask=ExecAsk.ALWAYS), replace(DENY, ask=ExecAsk.ALWAYS)),
        (ExecOverrides(), DENY, DENY),
    ],
)
async def test_off_restores_what_was_set_before(
    tmp_path: Path, earlier: ExecOverrides, meanwhile: ExecOverrides, expected: ExecOverrides | None
) -> None:
    """The earlier deny is in force again, and so is what was set in between (S0 "Alias")."""
    async with ruled(tmp_path) as (gate, rules):
        for overrides in (one for one in (earlier,) if one != ExecOverrides()):
            await rules.set(MAIN, overrides, ANA)
        for mode in (Elevation.ON, Elevation.FULL):  # the second keeps what the first found
            await rules.elevate(MAIN, mode, ANA)
        if meanwhile != ExecOverrides():
            await rules.set(MAIN, meanwhile, ANA)
        ended = await rules.elevate(MAIN, Elevation.OFF, ANA)
        shown = await rules.shown(MAIN)
        after = await gate.submit(request("uname", cwd=tmp_path))
        again = await rules.elevate(MAIN, Elevation.OFF, ANA)

    assert "No longer elevated." in ended.sentence
    assert expected == (None if shown is None else shown.overrides)
    assert isinstance(after, Pending if expected is None else Denied)
    assert "is not elevated, so nothing was changed" in again.sentence


async def test_what_an_earlier_version_stored_is_read(tmp_path: Path) -> None:
    """A row without its earlier value counts as not elevated."""
    async with ruled(tmp_path) as (gate, rules):
        await rules.set(MAIN, DENY, ANA)
        stored = {"host": None, "security": "deny", "ask": None, "node": None}
        await gate.store.write(_overwrite, json.dumps(stored))
        shown = await rules.shown(MAIN)

    assert shown is not None
    assert DENY == shown.overrides
    assert shown.before is None


def _overwrite(conn: Connection, text: str) -> None:
    conn.execute(update(session_settings).values(overrides=text))


@pytest.mark.parametrize("how", ["/elevated full", "/exec security=full"])
@pytest.mark.parametrize("asks", ["config", "file", "rule"])
async def test_full_skips_approvals(tmp_path: Path, how: str, asks: str) -> None:
    """Neither the configuration, the approvals file nor a rule asks any more (S0, S1)."""
    floor = {"version": 1, "defaults": {"security": "allowlist", "ask": "always"}, "agents": {}}
    if asks == "file":
        (tmp_path / "exec-approvals.json").write_text(json.dumps(floor))
        (tmp_path / "exec-approvals.json").chmod(0o600)
    async with ruled(tmp_path) as (gate, rules):
        if asks == "config":
            layer = PolicyLayer("tools.exec", ExecHost.GATEWAY, ask=ExecAsk.ALWAYS)
            configured = gate.rulebook.configured
            gate.rulebook.configured = lambda agent: (layer, *configured(agent))
        if asks == "rule":
            gate.rulebook.compiled = _rules("ask")
        before = await gate.submit(request("uname", cwd=tmp_path))
        if how == "/elevated full":
            change = await rules.elevate(MAIN, Elevation.FULL, ANA)
        else:
            change = await rules.set(MAIN, FULL, ANA)
        after = await gate.submit(request("uname", cwd=tmp_path))

    assert isinstance(before, Pending)
    assert isinstance(after, Finished)
    assert "Approvals are skipped. Still denied: security=deny of exec-app" in change.sentence


async def test_a_rule_that_denies_holds_where_approvals_are_skipped(tmp_path: Path) -> None:
    """Full access skips questions, not denials."""
    async with ruled(tmp_path) as (gate, rules):
        gate.rulebook.compiled = _rules("deny")
        await rules.elevate(MAIN, Elevation.FULL, ANA)
        result = await gate.submit(request("uname", cwd=tmp_path))

    assert isinstance(result, Denied)


async def test_rules_that_ask_hide_nothing_where_approvals_are_skipped(tmp_path: Path) -> None:
    """A line that cannot be parsed runs, unless a rule that denies might concern it."""
    text = "uname; (true)"
    async with ruled(tmp_path) as (gate, rules):
        await rules.elevate(MAIN, Elevation.FULL, ANA)
        gate.rulebook.compiled = _rules("ask")
        skipped = [
            await gate.submit(request(line, cwd=tmp_path)) for line in (text, "xargs -I{} uname {}")
        ]
        gate.rulebook.compiled = _rules("deny")
        held = await gate.submit(request(text, cwd=tmp_path))

    assert [Finished] * 2 == [type(one) for one in skipped]
    assert isinstance(held, Denied)
    assert "a rule that denies might concern it" in held.why


async def test_a_rule_that_asks_lifts_no_denial(tmp_path: Path) -> None:
    """A rule that asks does not allow where another rule denies what it may hide."""
    both = settings(rule("ask", glob="/usr/bin/*sh"), rule("deny", glob="/usr/bin/who"))
    async with ruled(tmp_path) as (gate, rules):
        gate.rulebook.compiled = compiled(both, "/")
        await rules.elevate(MAIN, Elevation.FULL, ANA)
        unread = await gate.submit(request("(who)", cwd=tmp_path))
        wrapped = await gate.submit(request("bash -c 'who; (true)'", cwd=tmp_path))

    assert [Denied] * 2 == [type(one) for one in (unread, wrapped)]


async def test_a_call_that_asks_is_asked_about_where_approvals_are_skipped(tmp_path: Path) -> None:
    """A call may only harden, so its question is asked; a rule that asks does so as well."""
    async with ruled(tmp_path) as (gate, rules):
        await rules.elevate(MAIN, Elevation.FULL, ANA)
        gate.rulebook.compiled = _rules("ask")
        hardened = [ExecOverrides(ask=ask) for ask in (ExecAsk.ON_MISS, ExecAsk.ALWAYS)]
        asked = [
            await gate.submit(replace(request("uname; (true)", cwd=tmp_path), overrides=one))
            for one in hardened
        ]

    assert [Pending] * 2 == [type(one) for one in asked]


async def test_on_keeps_the_question_that_was_set(tmp_path: Path) -> None:
    """``/elevated on`` sets host and security (S0 "Alias"), and leaves ``ask`` as it was."""
    always = ExecOverrides(ask=ExecAsk.ALWAYS)
    async with ruled(tmp_path) as (gate, rules):
        await rules.set(MAIN, always, ANA)
        for mode in (Elevation.ON, Elevation.FULL, Elevation.ON):
            await rules.elevate(MAIN, mode, ANA)
        shown = await rules.shown(MAIN)
        result = await gate.submit(request("uname", cwd=tmp_path))

    assert shown is not None
    assert replace(always, host=ExecHost.GATEWAY, security=ExecSecurity.FULL) == shown.overrides
    assert always == shown.before
    assert isinstance(result, Pending)


async def test_ask_that_is_set_beside_full_is_kept(tmp_path: Path) -> None:
    """A person who sets ask as well does not skip approvals."""
    async with ruled(tmp_path) as (gate, rules):
        change = await rules.set(MAIN, replace(FULL, ask=ExecAsk.ALWAYS), ANA)
        result = await gate.submit(request("uname", cwd=tmp_path))

    assert "skipped" not in change.sentence
    assert isinstance(result, Pending)


async def test_full_security_needs_the_setting(tmp_path: Path) -> None:
    """Neither /elevated nor /exec gives it, and earlier settings no longer apply."""
    async with ruled(tmp_path) as (_, rules):
        assert (await rules.elevate(MAIN, Elevation.FULL, ANA)).done
    async with ruled(tmp_path, elevated=False) as (gate, rules):
        refused = [await rules.elevate(MAIN, mode, ANA) for mode in (Elevation.ON, Elevation.ASK)]
        refused.append(await rules.set(MAIN, FULL, ANA))
        stale = await gate.submit(request("uname", cwd=tmp_path))

    assert [False] * 3 == [change.done for change in refused]
    assert all("tools.elevated.enabled" in change.sentence for change in refused)
    assert isinstance(stale, Denied), "ask=off of the stale setting turns the miss into a denial"


async def test_elevation_that_is_disabled_skips_nothing(tmp_path: Path) -> None:
    """Once a reload disables it, the approvals file and rules ask again in an elevated session."""
    floor = {"version": 1, "defaults": {"security": "allowlist", "ask": "always"}, "agents": {}}
    (tmp_path / "exec-approvals.json").write_text(json.dumps(floor))
    (tmp_path / "exec-approvals.json").chmod(0o600)
    async with ruled(tmp_path) as (gate, rules):
        layer = PolicyLayer("tools.exec", ExecHost.GATEWAY, ExecSecurity.FULL)
        configured = gate.rulebook.configured
        gate.rulebook.configured = lambda agent: (layer, *configured(agent))
        await rules.elevate(MAIN, Elevation.FULL, ANA)
        skipped = await gate.submit(request("uname", cwd=tmp_path))
        gate.rulebook.elevated = False
        held = await gate.submit(request("uname", cwd=tmp_path))

    assert isinstance(skipped, Finished)
    assert isinstance(held, Pending)


async def test_only_senders_set_anything(tmp_path: Path) -> None:
    """Not an unlisted person, and not a revoked sender, not even to clear."""
    async with ruled(tmp_path) as (gate, rules):
        refused = [
            await rules.set(MAIN, ExecOverrides(ask=ExecAsk.OFF), BOB),
            await rules.elevate(MAIN, Elevation.ON, BOB),
            await rules.elevate(MAIN, Elevation.OFF, BOB),
        ]
        await gate.store.write(people.revoke, "memory:ana")
        refused.append(await rules.set(MAIN, ExecOverrides(ask=ExecAsk.OFF), ANA))
        shown = await rules.shown(MAIN)

    assert [False] * 4 == [change.done for change in refused]
    assert "channels.memory.senders" in refused[0].sentence
    assert shown is None


async def test_a_change_is_never_hidden_by_a_read_that_began_before(tmp_path: Path) -> None:
    """Readers race with changes; after the last change every reader sees it."""
    store = await open_store(f"sqlite:///{tmp_path / 'state.db'}")
    layers = SessionLayers(store)
    try:
        for number in range(200):
            ask = (ExecAsk.ALWAYS, ExecAsk.OFF)[number % 2]
            await asyncio.gather(
                layers.layer(MAIN),
                store.write(session_overrides.put, MAIN, ExecOverrides(ask=ask), ANA),
                layers.layer(MAIN),
            )
            found = await layers.layer(MAIN)
            assert found is not None
            assert ask is found.ask
    finally:
        await store.close()


async def test_replicas_see_each_others_changes(postgres_url: str, tmp_path: Path) -> None:
    """If another gateway may write, each request reads the store."""
    first, second = await open_store(postgres_url), await open_store(postgres_url)
    layers = SessionLayers(second)
    tmp_path.chmod(0o700)
    try:
        assert await layers.layer(MAIN) is None
        with AuditJournal(tmp_path / "audit.jsonl") as journal:
            senders = Senders(first, Listing({"memory": frozenset({"ana"})}))
            await SessionRules(first, journal, senders, elevated=False).set(
                MAIN, ExecOverrides(ask=ExecAsk.ALWAYS), ANA
            )
        found = await layers.layer(MAIN)
    finally:
        await first.close()
        await second.close()

    assert found is not None
    assert ExecAsk.ALWAYS is found.ask


async def test_full_security_ends_with_the_rights_of_who_set_it(tmp_path: Path) -> None:
    """Ana elevated a session and is no longer a sender: the session is as it was before."""
    async with ruled(tmp_path) as (gate, rules):
        gate.rulebook.senders = Listing({"memory": frozenset({"ana"})})
        await rules.set(MAIN, ExecOverrides(ask=ExecAsk.ALWAYS), ANA)
        await rules.elevate(MAIN, Elevation.FULL, ANA)
        while_listed = await gate.submit(request("uname", cwd=tmp_path))
        gate.rulebook.senders = Listing({"memory": frozenset({"bob"})})
        taken_off = await gate.submit(request("uname", cwd=tmp_path))
        gate.rulebook.senders = Listing({"memory": frozenset({"ana"})})
        listed_again = await gate.submit(request("uname", cwd=tmp_path))
        await gate.store.write(people.revoke, ANA.ref)
        revoked = await gate.submit(request("uname", cwd=tmp_path))
    assert [type(one) for one in (while_listed, taken_off, listed_again, revoked)] == [
        *(Finished, Pending, Finished, Pending)
    ]


@pytest.mark.parametrize(
    ("earlier", "expected"), [(ExecOverrides(), Pending), (DENY, Denied), (FULL, Pending)]
)
async def test_what_was_set_before_full_security_outlives_it(
    tmp_path: Path, earlier: ExecOverrides, expected: type[object]
) -> None:
    """An earlier denial applies again; nothing, or full security of the same person, does not."""
    async with ruled(tmp_path) as (gate, rules):
        gate.rulebook.senders = Listing({"memory": frozenset({"ana"})})
        if earlier != ExecOverrides():
            await rules.set(MAIN, earlier, ANA)
        await rules.elevate(MAIN, Elevation.FULL, ANA)
        assert isinstance(await _unlisted_answer(gate, tmp_path), expected)


async def test_full_security_that_elevated_nobody_ends_as_well(tmp_path: Path) -> None:
    """`/exec security=full` keeps nothing of before: the configuration's policy applies again."""
    async with ruled(tmp_path) as (gate, rules):
        await rules.set(MAIN, FULL, ANA)
        assert isinstance(await _unlisted_answer(gate, tmp_path), Pending)


async def _unlisted_answer(gate: Gate, cwd: Path) -> object:
    """Run while the person is listed, and return the answer once no one is."""
    assert isinstance(await gate.submit(request("uname", cwd=cwd)), Finished)
    gate.rulebook.senders = Listing({})
    return await gate.submit(request("uname", cwd=cwd))


async def test_a_restriction_outlives_the_rights_of_who_set_it(tmp_path: Path) -> None:
    """What makes a session stricter remains, whoever set it."""
    async with ruled(tmp_path) as (gate, rules):
        await rules.set(MAIN, DENY, ANA)
        gate.rulebook.senders = Listing({})
        denied = await gate.submit(request("uname", cwd=tmp_path))
    assert isinstance(denied, Denied)
