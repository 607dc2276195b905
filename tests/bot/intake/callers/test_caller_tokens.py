"""Restrict callers with tokens: what each may call and see; no agent ever approves."""

import asyncio
import inspect
import itertools
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import update

from bot.intake.callers.caller import Caller, of_peer
from bot.intake.methods.health import HealthMethods
from bot.intake.registry.method import AnyMethod, Method, invoke, permit, table_of
from bot.intake.registry.params import IdParams
from bot.intake.results.answer import ChangeAnswer
from core.approvals.routing.approvers import Approvers
from core.errors import BadRequest, Forbidden, HostUnavailable, NotFound, Unauthenticated
from core.ipc.peer import Peer
from core.model.access import EVERY_SCOPE, PEOPLES_SCOPES, Scope
from core.model.command import ExecOverrides
from core.model.identity import (
    API_CHANNEL,
    Actor,
    AgentId,
    ApprovalId,
    Intake,
    Requester,
    SessionKey,
)
from core.model.node import NodeId
from core.model.policy import ExecAsk, ExecSecurity
from core.store import approvals
from core.store.people import nodes, people, token_text, tokens
from core.store.schema.people_tables import tokens as rows
from core.store.sessions import overrides
from core.text.secrets import mask
from tests.support.api_tokens import ASK, DECIDE, LOOK, RULE, Api, no_health
from tests.support.gate import ANA, gate_at

NETWORK_INTAKES = (Intake.HTTP, Intake.WEBSOCKET)
EVERYBODY = Approvers({"memory": frozenset({"ana"})}, everywhere=frozenset({"person:ana"}))


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Api]:
    """Yield the API of a gate where the person ana may answer."""
    async with gate_at(tmp_path, people=EVERYBODY) as gate:
        yield Api.of(gate)


async def refusal(method: AnyMethod, caller: Caller) -> type[Exception] | None:
    """Call a method without params; return how it was refused, ``None`` if it was admitted."""
    try:
        await invoke(method, {"no-such-param": 1}, caller)
    except Forbidden as error:
        return type(error)
    except BadRequest:
        return None
    raise AssertionError(f"{method.name} takes any params")


async def test_every_method_asks_for_its_scopes(api: Api) -> None:
    """Each method, each scope, each entry point: admitted exactly if the method says so.

    What it says is on docs/reference/methods.md, so that no scope changes unseen.
    """
    holders = {
        ASK: {"agent": "coder"},
        LOOK: {},
        DECIDE: {"person": "ana"},
        RULE: {},
    }
    for (scope, whose), intake in itertools.product(holders.items(), NETWORK_INTAKES):
        caller = await api.caller(f"{scope}-{intake}", scope, intake=intake, **whose)
        for name, method in api.table.items():
            let_in = await refusal(method, caller) is None
            hidden = method.local or (method.of_all and "agent" in whose)
            assert (scope in method.scopes and not hidden) == let_in, (name, scope, intake)


ITS_OWN = {"write", "submit", "cancel"}
"""What handlers of agents do: ask, stop what they asked, acknowledge their events."""
RIGHTS = {"answer", "append", "engage", "lift", "refusal", "rename", "replace", "rotate"}
"""What those of people do in addition: decide, change rights, record who did."""


def done_by(method: AnyMethod) -> set[str]:
    """Return which of these a handler calls, with what it calls of its own group."""
    text = inspect.getsource(method.handler)
    group = getattr(method.handler, "__self__", None)
    parts = (getattr(group, name) for name in re.findall(r"self\.(_\w+)\(", text))
    words = re.findall(r"\.(\w+)\(", "".join((text, *map(inspect.getsource, parts))))
    return {*words} & (ITS_OWN | RIGHTS)


async def test_no_scope_slips_into_a_method(api: Api) -> None:
    """Each names one; `read` opens nothing that changes anything, `request` no right of people."""
    methods = api.table.values()

    assert [one.name for one in methods if not one.scopes] == []
    assert [one.name for one in methods if LOOK in one.scopes and done_by(one)] == []
    assert [one.name for one in methods if ASK in one.scopes and done_by(one) & RIGHTS] == []


async def test_what_a_method_does_is_seen(api: Api) -> None:
    """The control: were `request` to open these, or `read` the first, they would be named."""
    changing = {one.name for one in api.table.values() if done_by(one)}
    rights = {one.name for one in api.table.values() if done_by(one) & RIGHTS}

    assert {"exec.run", "exec.cancel", "events.ack"} <= changing - rights
    assert {"exec.approval.resolve", "exec.approvals.set", "token.create", "people.add"} <= rights
    assert {"grants.revoke", "node.approve", "node.revoke", "lockdown.engage"} <= rights


HARMLESS = {"health.get", "lockdown.get", "node.list", "skills.bins"}
"""What an agent may read although it is not an agent's: the state of the gateway, and no more."""
OF_ITS_AGENT = {"terminal.list"}
"""Methods that list what belongs to the caller's own agent, whatever it asks."""
CARRYING = {"node.invoke"}
"""Methods that carry the call of another method, with the same caller."""


async def test_what_an_agent_may_read_is_its_own(api: Api) -> None:
    """A method open to an agent's token names its agent, or one thing that can be hidden."""
    coder = await api.caller("coder", ASK, LOOK, agent="coder")
    for name, method in api.table.items():
        if await refusal(method, coder) is not None:
            continue
        narrowed = {"agent", "id"} & method.params.model_fields.keys()
        assert narrowed or name in {*HARMLESS, *OF_ITS_AGENT, *CARRYING}, name


async def test_a_method_carried_by_another_is_bound_too(api: Api, tmp_path: Path) -> None:
    """What `node.invoke` carries names an agent as usual; the control is its own."""
    draft = nodes.PairingDraft(NodeId("ab" * 32), "cd" * 32, "web", "127.0.0.1")
    asked = await api.gate.store.write(nodes.request, draft)
    await api.gate.store.write(nodes.approve, asked.code, "uid:0")
    coder = await api.caller("coder", ASK, LOOK, agent="coder")
    wish = {"command": "true", "cwd": str(tmp_path)}
    for command, params in (
        ("system.run", wish),
        ("system.run.prepare", wish),
        ("system.which", {"bins": ["true"]}),
        ("system.execApprovals.get", {}),
    ):
        named = {**params, "agent": "other"}
        with pytest.raises(Forbidden, match="bound to coder"):
            await api.call(coder, "node.invoke", node="web", command=command, params=named)
    with pytest.raises(Forbidden):
        await api.call(
            coder,
            "node.invoke",
            node="web",
            command="system.execApprovals.set",
            params={"file": {}, "baseHash": "00"},
        )
    with pytest.raises(HostUnavailable):
        await api.call(
            coder, "node.invoke", node="web", command="system.which", params={"bins": ["true"]}
        )


async def test_a_local_process_may_call_everything(api: Api) -> None:
    """The socket's callers have every scope; what gives rights asks for a terminal itself."""
    here = of_peer(Peer(1, 0, 0))

    assert [None] * len(api.table) == [await refusal(one, here) for one in api.table.values()]


async def test_no_scope_lets_an_agent_decide(api: Api) -> None:
    """A caller that is bound to agents, or may ask over the network, has no right of people."""
    asker = Requester(Intake.HTTP, "api:x")
    actor = Actor(API_CHANNEL, "x")
    bound = Caller(asker, actor, EVERY_SCOPE, frozenset({AgentId("coder")}), token="x")
    asking = Caller(asker, actor, EVERY_SCOPE, token="x")
    local = Caller(asker, actor, EVERY_SCOPE, frozenset({AgentId("coder")}), peer=Peer(1, 0, 0))
    deciding = [m for m in api.table.values() if m.scopes <= PEOPLES_SCOPES]

    assert len(deciding) > 8
    for method, caller in itertools.product(deciding, (bound, asking, local)):
        assert await refusal(method, caller) is Forbidden, method.name
    decider = Caller(asker, actor, frozenset({DECIDE}), token="x")
    assert await refusal(api.table["exec.approval.resolve"], decider) is None


@pytest.mark.parametrize("scopes", ["approve request", "admin approve read request", "approve"])
async def test_a_row_that_was_tampered_with_decides_nothing(
    api: Api, tmp_path: Path, scopes: str
) -> None:
    """An agent's token stays an agent's, whatever is written into its row."""
    text = await api.token("coder", ASK, agent="coder")
    await api.gate.store.write(people.add, "ana")
    await api.gate.store.write(lambda conn: conn.execute(update(rows).values(scopes=scopes)))
    await api.gate.store.write(
        lambda conn: conn.execute(update(rows).values(person="ana", name="ana"))
    )
    caller = await api.holder(text)
    local = of_peer(Peer(1, 0, 0))
    asked = await api.ask(local, "uname", tmp_path, agent="coder")

    for ref in (asked, asked[:6], asked[:6].upper(), asked[:4]):
        with pytest.raises(Forbidden):
            await api.call(caller, "exec.approval.resolve", id=ref, decision="allow-once")
    found = await api.gate.store.read(approvals.get, ApprovalId(asked))
    assert found is not None
    assert found.resolution is None


@pytest.mark.parametrize(
    ("scopes", "agent", "person", "kept"),
    [
        ("approve read", None, None, "read"),
        ("request read", None, None, "read"),
        ("request approve", None, "ana", "approve"),
        ("request admin", "coder", None, "request"),
    ],
)
async def test_scopes_that_nobody_may_hold_are_not_held(
    api: Api, scopes: str, agent: str | None, person: str | None, kept: str
) -> None:
    """What creation refuses is dropped if a row still says it."""
    text = await api.token("x", LOOK)
    await api.gate.store.write(people.add, "ana")
    changed = {"scopes": scopes, "agent": agent, "person": person}
    await api.gate.store.write(lambda conn: conn.execute(update(rows).values(**changed)))

    assert {Scope(kept)} == (await api.holder(text)).scopes


async def test_what_is_no_live_token_lets_nobody_in(api: Api) -> None:
    """Unknown, mistyped, revoked, a revoked person's, a hash: all get the same error."""
    good = await api.token("good", DECIDE, person="ana")
    revoked = await api.token("revoked", LOOK)
    orphan = await api.token("orphan", DECIDE, person="bob")
    meant = await api.gate.store.read(tokens.meant, "revoked")
    assert meant is not None
    await api.gate.store.write(tokens.revoke, meant.id)
    await api.gate.store.write(people.revoke, "bob")
    swapped = good[:-1] + ("0" if good[-1] != "0" else "1")
    tried = [
        revoked,
        orphan,
        swapped,
        token_text.draw(),
        token_text.digest(good),
        good + "\n",
        good.upper(),
        f" {good}",
        "",
        "sayso_",
        "é" * 55,
        "x" * 1_000_000,
    ]
    told = set()
    for text in tried:
        with pytest.raises(Unauthenticated) as refused:
            await api.holder(text)
        told.add(str(refused.value))

    assert 1 == len(told)
    assert (await api.holder(good)).may(DECIDE)


async def test_a_person_answers_with_a_token(api: Api, tmp_path: Path) -> None:
    """A listed person's token decides, however the question arrived; others' do not."""
    coder = await api.caller("coder", ASK, agent="coder")
    ana = await api.caller("ana", DECIDE, LOOK, person="ana", intake=Intake.WEBSOCKET)
    bob = await api.caller("bob", DECIDE, LOOK, person="bob")
    over = await api.ask(coder, "uname", tmp_path)
    here = await api.ask(of_peer(Peer(1, 0, 0)), "uname -s", tmp_path)
    for asked in (over, here):
        refused = await api.call(bob, "exec.approval.resolve", id=asked, decision="allow-once")
        taken = await api.call(ana, "exec.approval.resolve", id=asked, decision="allow-once")
        shown = await api.call(coder, "exec.approval.get", id=over)

        assert (False, "not_listed") == (refused["accepted"], refused["outcome"])
        assert (True, "accepted") == (taken["accepted"], taken["outcome"])
        assert ("allowed", "api:" + ana.token) == (shown["state"], shown["by"])


async def test_nobody_answers_by_default(tmp_path: Path) -> None:
    """A person's token that no list names decides nothing."""
    async with gate_at(tmp_path) as gate:
        api = Api.of(gate)
        ana = await api.caller("ana", DECIDE, person="ana")
        asked = await api.ask(of_peer(Peer(1, 0, 0)), "uname", tmp_path)
        answer = await api.call(ana, "exec.approval.resolve", id=asked, decision="allow-once")

    assert "not_listed" == answer["outcome"]
    assert "approvers" in str(answer["sentence"])


async def test_what_came_over_the_network_is_not_answered_by_a_local_process(
    tmp_path: Path,
) -> None:
    """The holder of a token may run here too; a chat, which proves its person, may answer."""
    listed = Approvers({"memory": frozenset({"ana"}), "terminal": frozenset({"uid:0"})})
    async with gate_at(tmp_path, people=listed) as gate:
        api = Api.of(gate)
        coder = await api.caller("coder", ASK, agent="coder")
        asked = await api.ask(coder, "uname", tmp_path)
        refused = await api.call(
            of_peer(Peer(1, 0, 0)), "exec.approval.resolve", id=asked, decision="allow-once"
        )
        found = await gate.store.read(approvals.get, ApprovalId(asked))
        assert found is not None
        told = listed.eligibility(ANA, found.requester)

    assert "requester" == refused["outcome"]
    assert "may" == told


async def test_an_agent_sees_its_own_only(api: Api, tmp_path: Path) -> None:
    """Lists leave out what is another's; an existing id is treated like a missing one."""
    coder = await api.caller("coder", ASK, LOOK, agent="coder")
    other = await api.caller("other", ASK, LOOK, agent="other")
    mine = await api.ask(coder, "uname", tmp_path)
    theirs = await api.ask(other, "uname -s", tmp_path)
    asked = (one for one in api.table.values() if issubclass(one.params, IdParams))
    by_id = [one.name for one in asked if one.scopes & {ASK, LOOK} and not one.of_all]
    assert len(by_id) >= 7
    for name, ref in itertools.product(by_id, (theirs, theirs[:6], theirs[:4])):
        told = []
        for guess in (ref, "zzzz" + ref[4:]):
            with pytest.raises(BadRequest) as refused:
                await api.call(coder, name, id=guess)
            told.append(str(refused.value).replace(guess, "ID"))
        assert told[0] == told[1], name
    assert "pending" == (await api.call(other, "exec.approval.get", id=theirs[:6]))["state"]
    assert [mine] == ids(await api.call(coder, "exec.approval.list"), "pending")
    assert [mine] == ids(await api.call(coder, "history.list"), "history")
    assert [mine] == ids(await api.call(coder, "exec.approval.list", agent="coder"), "pending")
    reader = await api.caller("reader", LOOK)
    assert {mine, theirs} == set(ids(await api.call(reader, "exec.approval.list"), "pending"))
    assert [theirs] == ids(await api.call(reader, "history.list", agent="other"), "history")


def ids(answer: dict[str, object], key: str) -> list[str]:
    """Return the ids of a list."""
    found = answer[key]
    assert isinstance(found, list)
    return [row["id"] for row in found]


async def test_an_agent_names_no_other_agent(api: Api, tmp_path: Path) -> None:
    """Every method that takes an agent refuses another's name, and means its own without one."""
    coder = await api.caller("coder", ASK, LOOK, agent="coder")
    named = [method for method in api.table.values() if "agent" in method.params.model_fields]
    extra: dict[str, dict[str, object]] = {
        "exec.run": {"command": "true", "cwd": str(tmp_path)},
        "exec.approval.request": {"command": "true", "cwd": str(tmp_path)},
        "agent.prompt": {"prompt": "look", "cwd": str(tmp_path)},
        "terminal.open": {"cwd": str(tmp_path)},
        "policy.explain": {"command": "true", "cwd": str(tmp_path)},
        "tool.call": {"tool": "Exec"},
        "exec.approvals.node.get": {"id": "web"},
        "events.drain": {"session": "main"},
        "events.ack": {"session": "main", "seq": 0},
    }
    for method in named:
        if method.scopes <= PEOPLES_SCOPES:
            continue
        wish = {**extra.get(method.name, {}), "agent": "other"}
        with pytest.raises(Forbidden, match="bound to coder"):
            await invoke(method, wish, coder)
    told = await api.call(coder, "policy.explain", **extra["policy.explain"])

    assert len(named) > 8
    assert "coder" == told["agent"]


async def test_an_agents_sessions_are_its_own(api: Api, tmp_path: Path) -> None:
    """Knowing a session's name does not reveal its events, or what people set for it."""
    coder = await api.caller("coder", ASK, LOOK, agent="coder")
    other = await api.caller("other", ASK, LOOK, agent="other")
    lax = ExecOverrides(security=ExecSecurity.FULL, ask=ExecAsk.OFF)
    await api.gate.store.write(overrides.put, SessionKey("chat:1"), lax, ANA)
    api.gate.rulebook.elevated = True
    await api.ask(of_peer(Peer(1, 0, 0)), "id", tmp_path, session="main")
    run = await api.call(
        of_peer(Peer(1, 0, 0)), "exec.run", command="true", cwd=str(tmp_path), session="chat:1"
    )
    asked = await api.ask(coder, "true", tmp_path, session="chat:1")
    await api.call(coder, "exec.cancel", id=asked)
    heard = {
        (caller.token, name): await api.call(caller, "events.drain", session=name)
        for caller in (coder, other)
        for name in ("chat:1", "agent:coder:chat:1")
    }
    listed = await api.call(coder, "sessions.list")
    acked = await api.call(other, "events.ack", session="agent:coder:chat:1", seq=99)
    again = await api.call(coder, "events.drain", session="chat:1")

    assert "finished" == run["status"]
    assert heard[coder.token, "chat:1"] == heard[coder.token, "agent:coder:chat:1"] == again
    assert [asked] == ids(again, "events")
    assert {"events": []} == heard[other.token, "chat:1"]
    assert {"events": []} == heard[other.token, "agent:coder:chat:1"]
    assert {"acked": 0} == acked
    assert ["agent:coder:chat:1"] == [row["session"] for row in rows_of(listed, "sessions")]


def rows_of(answer: dict[str, object], key: str) -> list[dict[str, object]]:
    """Return the rows of a list."""
    found = answer[key]
    assert isinstance(found, list)
    return found


async def test_keys_of_two_tokens_never_meet(api: Api, tmp_path: Path) -> None:
    """The same request key of two agents is two requests; of one token it is one."""
    coder = await api.caller("coder", ASK, agent="coder")
    twin = await api.caller("twin", ASK, agent="coder")
    asked = [
        await api.ask(caller, "uname", tmp_path, requestKey="k") for caller in (coder, coder, twin)
    ]

    assert asked[0] == asked[1]
    assert asked[0] != asked[2]


async def test_output_is_the_agents_own(api: Api, tmp_path: Path) -> None:
    """Other network readers get it with its secrets masked."""
    secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
    (tmp_path / "key").write_text(secret)
    coder = await api.caller("coder", ASK, agent="coder")
    reader = await api.caller("reader", LOOK)
    ana = await api.caller("ana", DECIDE, person="ana")
    asked = await api.ask(coder, "cat key", tmp_path, session="s")
    await api.call(ana, "exec.approval.resolve", id=asked, decision="allow-once")
    for run_id, plan in await api.gate.queued():
        await api.gate.run_approved(run_id, plan)
    own = await api.call(coder, "exec.wait", id=asked)
    read = await api.call(reader, "exec.wait", id=asked)
    events = ""
    async with asyncio.timeout(30):
        while "exec.finished" not in events:  # a slow store gets it after who waited has its result
            drained = await api.call(reader, "events.drain", session="agent:coder:s")
            events = json.dumps(drained)

    assert secret == own["output"]
    assert "[secret: GitHub token]" in str(read["output"])
    assert secret not in json.dumps(read) + events
    assert "[secret" in events


async def test_rights_are_changed_with_the_scope_admin(api: Api) -> None:
    """Over the network there is no terminal: the scope decides, and the journal names the token."""
    admin = await api.caller("admin", RULE)
    added = await api.call(admin, "people.add", name="carla")
    code = await api.call(admin, "people.pair", name="carla")
    listed = await api.call(admin, "people.list")
    victim = await api.caller("victim", LOOK)
    ended = await api.call(admin, "token.revoke", token="victim")
    shown = await api.call(admin, "token.list")
    with pytest.raises(Forbidden, match=r"gateway\.sock only"):
        await api.call(admin, "token.create", name="x", scopes=["admin"])

    assert added["done"]
    assert code["code"]
    assert ["carla"] == ids(listed, "people")
    assert ended["done"]
    states = {row["name"]: row["state"] for row in rows_of(shown, "tokens")}
    assert {"admin": "live", "victim": "revoked"} == states
    assert victim.token in {row["id"] for row in rows_of(shown, "tokens")}


async def test_the_approvals_file_is_read_and_replaced(api: Api, tmp_path: Path) -> None:
    """An agent sees its part; an administrator replaces what was read, not what came after."""
    agents = {name: {"allowlist": [{"pattern": f"/usr/bin/{name}"}]} for name in ("coder", "b")}
    api.gate.rulebook.file.replace(json.dumps({"version": 1, "agents": agents}))
    coder = await api.caller("coder", ASK, LOOK, agent="coder")
    admin = await api.caller("admin", RULE, LOOK)
    own = await api.call(coder, "exec.approvals.get")
    whole = await api.call(admin, "exec.approvals.get")
    wish = {"version": 1, "agents": {"b": {"allowlist": []}}}
    set_ = await api.call(admin, "exec.approvals.set", file=wish, baseHash=whole["hash"])
    with pytest.raises(BadRequest, match="has changed"):
        await api.call(admin, "exec.approvals.set", file={"version": 1}, baseHash=whole["hash"])
    with pytest.raises(Forbidden):
        await api.call(coder, "exec.approvals.set", file={"version": 1}, baseHash=own["hash"])
    after = await api.call(admin, "exec.approvals.get")
    journal = (tmp_path / "audit.jsonl").read_text()

    assert ["coder"] == list(part(own, "agents"))
    assert {"coder", "b"} == set(part(whole, "agents"))
    assert set_["done"]
    assert {"b": {"allowlist": []}} == part(after, "agents")
    assert "approvals file" in journal
    assert "token" not in json.dumps([own, whole, after])


@pytest.mark.parametrize(
    ("method", "wish"),
    [
        ("token.revoke", {"token": "nosuch"}),
        ("grants.revoke", {"id": "ZZZZZZ"}),
        ("tasks.end", {"task": "nosuch"}),
        ("people.revoke", {"who": "nosuch"}),
    ],
)
async def test_what_is_not_there_is_not_revoked(
    api: Api, tmp_path: Path, method: str, wish: dict[str, object]
) -> None:
    """It is refused with a sentence, and the journal records no revocation."""
    admin = await api.caller("admin", RULE)
    words = "^(No person|No active grant|No token|Task .* has no active|Nobody has)"
    with pytest.raises(NotFound, match=words):
        await api.call(admin, method, **wish)
    journal = tmp_path / "audit.jsonl"

    assert "revoke" not in (journal.read_text() if journal.exists() else "")


def part(answer: dict[str, object], key: str) -> dict[str, object]:
    """Return one part of the file that was shown."""
    file = answer["file"]
    assert isinstance(file, dict)
    found = file[key]
    assert isinstance(found, dict)
    return found


async def test_no_token_is_ever_written_down(
    api: Api, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Not in the journal, the database's files, the log, or a caller's repr."""
    caplog.set_level(0)
    coder, ana = (
        await api.token("coder", ASK, agent="coder"),
        await api.token("ana", DECIDE, LOOK, RULE, person="ana"),
    )
    asker, person = await api.holder(coder), await api.holder(ana)
    asked = await api.ask(asker, f"echo {ana}", tmp_path)
    shown = await api.call(person, "exec.approval.get", id=asked)
    await api.call(person, "exec.approval.resolve", id=asked, decision="deny", note=f"see {ana}")
    listed = await api.call(person, "token.list")
    with pytest.raises(Unauthenticated) as refused:
        await api.holder(coder[:-1])
    written = (tmp_path / "audit.jsonl").read_text() + caplog.text

    for text in (coder, ana):
        assert text not in written + repr((asker, person, shown, listed)) + str(refused.value)
    for file in tmp_path.iterdir():
        assert coder.encode() not in file.read_bytes(), file
    assert "[secret: Sayso token]" in str(shown["command"])


def test_a_token_is_known_by_its_shape() -> None:
    """Redaction masks it wherever it is; nearly every mistake in it is noticed."""
    text = token_text.draw()
    wrong = [text[:place] + other(text[place]) + text[place + 1 :] for place in range(6, 55)]

    assert 55 == len(text)
    assert token_text.is_token(text)
    assert "x=[secret: Sayso token];" == mask(f"x={text};")
    assert not any(map(token_text.is_token, wrong))
    assert 1000 == len({token_text.draw() for _ in range(1000)})


def other(character: str) -> str:
    """Return another character than this one."""
    return "a" if character != "a" else "b"


def test_two_methods_never_share_a_name() -> None:
    """A name that occurs twice prevents the start, so that none is silently replaced."""
    part_ = HealthMethods(no_health)
    with pytest.raises(ValueError, match=r"health\.get"):
        table_of((part_, part_))


async def test_a_guard_that_is_gone_is_noticed(api: Api) -> None:
    """Without its scopes a method would let everyone in: the matrix's probe can tell."""
    resolve = api.table["exec.approval.resolve"]
    open_ = Method("x", resolve.params, EVERY_SCOPE, _nothing, ChangeAnswer, "")
    reader = await api.caller("reader", LOOK)

    assert await refusal(resolve, reader) is Forbidden
    assert await refusal(open_, reader) is None
    permit(open_, reader)


async def _nothing(_wish: object, _caller: Caller) -> ChangeAnswer:
    """Do nothing."""
    return ChangeAnswer.of("Nothing.")
