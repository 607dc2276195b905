"""Read the methods' params strictly, without ever echoing what was sent."""

import pytest

from bot.intake.registry.params import EventsParams, IdParams, ResolveParams, RunParams, read
from core.approvals.file.edit import known_agent
from core.errors import BadRequest
from core.model.approval import THIS_SESSION, THIS_TASK, ApprovalReply, GrantTerms
from core.model.identity import Intake, Requester, is_name
from core.model.policy import ExecAsk, ExecHost
from tests.support.tables import rows

ASKER = Requester(Intake.SOCKET, "uid:0", (1, 2))


def test_a_request_is_built_from_params_and_connection() -> None:
    """The words of the body and the identity of the connection make the request."""
    wish = read(
        RunParams,
        {
            "argv": ["ls", "-l"],
            "cwd": "/srv",
            "agent": "coder",
            "session": "s1",
            "env": {"B": "2", "A": "1"},
            "host": "gateway",
            "ask": "always",
            "timeoutMs": 5000,
            "requestKey": "k",
            "task": "fix/login#4",
        },
    ).request(ASKER)

    assert ASKER == wish.requester
    assert (("ls", "-l"), None) == (wish.argv, wish.line)
    assert (("A", "1"), ("B", "2")) == wish.env
    assert (ExecHost.GATEWAY, ExecAsk.ALWAYS) == (wish.overrides.host, wish.overrides.ask)
    assert 5000 == wish.timeout_ms
    assert "fix/login#4" == wish.task
    assert "uid:0\x1fcoder\x1fs1\x1fk" == wish.request_key


def test_keys_of_different_callers_never_meet() -> None:
    """The same key of another account, agent or session is another request."""
    params = {"command": "ls", "cwd": "/", "requestKey": "k"}
    other = Requester(Intake.SOCKET, "uid:1", (1, 2))

    keys = {
        read(RunParams, params).request(ASKER).request_key,
        read(RunParams, params).request(other).request_key,
        read(RunParams, {**params, "agent": "b"}).request(ASKER).request_key,
        read(RunParams, {**params, "session": "b"}).request(ASKER).request_key,
    }

    assert 4 == len(keys)


@rows(
    "params",
    [
        {},
        {"cwd": "/"},
        {"cwd": "/", "command": "ls", "argv": ["ls"]},
        {"cwd": "/", "command": 7},
        {"cwd": "/", "argv": ["ls", 7]},
        {"cwd": "/", "argv": "ls"},
        {"cwd": "/", "command": "ls", "requester": "uid:0"},
        {"cwd": "/", "command": "ls", "host": "moon"},
        {"cwd": "/", "command": "ls", "agent": ""},
        {"cwd": "/", "command": "ls", "agent": "a\nb"},
        {"cwd": "/", "command": "ls", "timeoutMs": 0},
        {"cwd": "/", "command": "ls", "timeoutMs": 1.5},
        {"cwd": "/", "command": "ls", "env": {"A": 1}},
        {"cwd": "/", "command": "ls", "wait": "yes"},
    ],
)
def test_bad_params_are_refused(params: dict[str, object]) -> None:
    """Missing, doubled, unknown and ill-typed params are refused by name."""
    with pytest.raises(BadRequest):
        read(RunParams, params)


def test_values_are_never_echoed() -> None:
    """The refusal names the key, not the value, which may be a secret."""
    with pytest.raises(BadRequest) as refused:
        read(RunParams, {"cwd": "/", "command": "ls", "token": "hunter2-secret"})

    assert "token" in str(refused.value)
    assert "hunter2" not in str(refused.value)


def test_other_methods() -> None:
    """Ids, replies and event numbers are read strictly."""
    assert ApprovalReply.DENY is read(ResolveParams, {"id": "K3F7QZ", "decision": "deny"}).decision
    assert 3 == read(EventsParams, {"session": "main", "seq": 3}).seq
    for kind, params in (
        (ResolveParams, {"id": "K3F7QZ", "decision": "perhaps"}),
        (EventsParams, {"session": "main", "seq": -1}),
        (IdParams, {"id": ""}),
        (IdParams, {"id": "x" * 300}),
    ):
        with pytest.raises(BadRequest):
            read(kind, params)


@rows(
    "task",
    [
        "",
        " fix",
        "fix login",
        "fix\n",
        "-fix",
        "f\u0456x",
        "x" * 101,
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    ],
)
def test_a_task_has_a_plain_name_and_never_a_secret(task: str) -> None:
    """What reads like another name, hides in a line or would be masked is refused, unechoed."""
    with pytest.raises(BadRequest, match="task") as refused:
        read(RunParams, {"command": "ls", "cwd": "/", "task": task})

    assert len(task) < 5 or task not in str(refused.value)


@pytest.mark.parametrize(
    ("limit", "terms"),
    [
        (None, None),
        ("30m", GrantTerms(for_ms=1_800_000)),
        ("5x", GrantTerms(uses=5)),
        ("session", THIS_SESSION),
        ("task", THIS_TASK),
    ],
)
def test_an_allow_always_may_have_a_limit(limit: str | None, terms: GrantTerms | None) -> None:
    """The words are those of chats."""
    wish = read(ResolveParams, {"id": "k3f7qz", "decision": "allow-always", "limit": limit})

    assert terms == wish.terms


@pytest.mark.parametrize(
    ("decision", "limit", "says"),
    [
        ("allow-always", "31d", "'31d' is neither a decision .* up to 30 days"),
        ("allow-always", "soon", "'soon' is neither a decision"),
        ("allow-once", "30m", "goes with allow-always only"),
        ("deny", "session", "goes with allow-always only"),
    ],
)
def test_a_limit_that_means_nothing_is_refused(decision: str, limit: str, says: str) -> None:
    """Nothing is decided by a word that was not understood."""
    with pytest.raises(BadRequest, match=says):
        read(ResolveParams, {"id": "k3f7qz", "decision": decision, "limit": limit})


@rows(
    "name",
    ["main", "../x", "é\u202e", "a" * 200, "", "a" * 201, "x\n", "\n", "x\0", "\x7f", "\x85"],
)
def test_requests_name_the_agents_that_lists_are_kept_for(name: str) -> None:
    """One name, one rule: for requesters, and for lists."""
    refused: list[str] = []
    run = {"command": "ls", "cwd": "/"}
    for what in (known_agent, lambda agent: read(RunParams, {**run, "agent": agent})):
        try:
            what(name)
        except BadRequest as why:
            refused.append(str(why))
    assert len(refused) in {0, 2}
    assert is_name(name) is not bool(refused)
