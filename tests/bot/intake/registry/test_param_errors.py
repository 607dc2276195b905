"""Report what is wrong with params: the field, the fault, what to give; no value."""

import re
import time
from pathlib import Path
from typing import Any

import pytest

from bot.intake.methods.people import AccountParams
from bot.intake.methods.tokens import TokenParams
from bot.intake.registry.params import AskParams, Params, PastParams, ResolveParams, RunParams, read
from bot.intake.results.remote_bodies import CancelBody, RunBody
from core.errors import BadRequest
from tests.support.api_tokens import Api
from tests.support.gate import gate_at
from tests.support.tables import rows

LS: dict[str, Any] = {"command": "ls", "cwd": "/"}
SECRET = "hunter2-secret"
JUNK: tuple[Any, ...] = (
    *(None, True, 5, -1, 1.5, 2**70, float("nan"), "", SECRET, "x" * 2_000_000, "a\0b", "\ud800"),
    *([], [1], [SECRET], [None] * 9_999, {}, {"a": 1}, {SECRET: None}, b"x"),
)


def told(kind: type[Params], **params: Any) -> str:
    """Return how params are refused."""
    with pytest.raises(BadRequest) as refused:
        read(kind, params)
    return str(refused.value)


def refusal(kind: type[Params], name: str, value: Any) -> str:
    """Return how one param is refused, empty if it is read."""
    try:
        read(kind, {name: value})
    except BadRequest as refused:
        return str(refused)
    return ""


@rows(
    "kind, params, words",
    [
        (RunParams, {**LS, "cwd": 5}, "cwd: must be text, not a number"),
        (RunParams, {**LS, "cwd": None}, "cwd: must be text, not null"),
        (RunParams, {"command": "ls"}, "cwd: is missing; give it: where it runs; absolute"),
        (RunParams, {**LS, "env": {"A": 1}}, "env.A: must be text, not a number"),
        (RunParams, {**LS, "env": []}, "env: must be an object, not a list"),
        (RunParams, {"cwd": "/", "argv": "ls"}, "argv: must be a list, not text"),
        (RunParams, {"cwd": "/", "argv": ["a", 1]}, "argv[1]: must be text, not a number"),
        (RunParams, {**LS, "wait": "yes"}, "wait: must be true or false, not text"),
        (RunParams, {**LS, "timeoutMs": "5"}, "timeoutMs: must be a whole number, not text"),
        (RunParams, {**LS, "timeoutMs": 0}, "timeoutMs: must be more than 0"),
        (RunParams, {**LS, "host": "moon"}, "host: must be sandbox, gateway or node"),
        (
            RunParams,
            {**LS, "host": "gatway"},
            "host: must be sandbox, gateway or node; did you mean `gateway`?",
        ),
        (RunParams, {**LS, "agent": ""}, "agent: must not be empty; 1 character or more"),
        (
            RunParams,
            {**LS, "agent": "a\n"},
            "agent: must not contain control characters or line breaks",
        ),
        (RunParams, {**LS, "node": "x" * 201}, "node: must have 200 characters or fewer"),
        (RunParams, {**LS, "timeout": 5}, "timeout: is not known here; did you mean `timeoutMs`?"),
        (RunParams, {**LS, "stdin": "%"}, "stdin: must be base64"),
        (RunParams, {**LS, "task": "fix it"}, "task: must be letters, digits and . _ : / # -, a"),
        (RunParams, {"cwd": "/"}, "give one of `command` and `argv`"),
        (AskParams, {**LS, "wait": True}, "wait: must be false"),
        (PastParams, {"limit": 0}, "limit: must be 1 or more"),
        (PastParams, {"limit": 1001}, "limit: must be 1000 or less"),
        (
            ResolveParams,
            {"id": "x", "decision": "no"},
            "decision: must be allow-once, allow-always or",
        ),
        (AccountParams, {"account": "x"}, "account: must be CHANNEL:ACCOUNT, such as telegram:42"),
        (CancelBody, {"request_id": "x"}, "request_id: must be 32 lowercase hex digits"),
        (
            TokenParams,
            {"name": "x", "scopes": ["all"]},
            "scopes[0]: must be request, approve, admin",
        ),
    ],
)
def test_each_mistake_has_words_of_its_own(
    kind: type[Params], params: dict[str, Any], words: str
) -> None:
    """The field by its path, what is wrong with it, and what would be right."""
    assert told(kind, **params).startswith(words)


COUNTLESS = 60_000
LARGE = 8 << 20
QUICK_S = 0.5


@pytest.mark.parametrize(
    "params",
    [
        {f"timeoutm{one}": 1 for one in range(COUNTLESS)},
        {**LS, "env": {f"k{one}": 1 for one in range(COUNTLESS)}},
        {"cwd": "/", "argv": [1] * COUNTLESS},
        {**LS, "host": "gatewa" * (LARGE // 6)},
        {**LS, "timeout" * (LARGE // 7): 1},
    ],
    ids=["unknown keys", "variables", "words", "a long choice", "a long key"],
)
def test_countless_mistakes_hold_up_nobody(params: dict[str, Any]) -> None:
    """Wording each took 5 s on the loop, and the answer was longer than what was sent."""
    began = time.process_time()
    words = told(RunParams, **params)
    assert time.process_time() - began < QUICK_S
    assert len(words) < 1_000


def test_as_many_mistakes_as_anybody_makes_are_told_one_by_one() -> None:
    """A hundred; beyond that, only their number is given."""
    hundred = told(RunParams, **LS, **{f"k{one}": 1 for one in range(100)})
    assert hundred.count("is not known here") == 100
    more = told(RunParams, **LS, **{f"k{one}": 1 for one in range(101)})
    assert more.startswith("101 values are wrong, too many to list")


def test_every_mistake_is_told_at_once() -> None:
    """After fixing one field, the caller need not come back for the next."""
    assert told(RunParams, command=1, cwd=2).count("must be text, not a number") == 2


def test_a_list_of_wrong_things_is_not_called_empty_as_well() -> None:
    """One mistake is reported once."""
    assert told(RunBody, agent_id="ab" * 32, argv=[1]) == "argv[0]: must be text, not a number"


def test_a_remote_vector_is_told_in_the_same_words() -> None:
    """Its base64 is checked later than its shape."""
    body = read(RunBody, {"agent_id": "ab" * 32, "argv": ["ls"], "stdin_b64": "%"})
    with pytest.raises(BadRequest, match=r"^stdin_b64: must be base64$"):
        body.order()


async def test_no_field_of_any_method_is_told_in_a_librarys_words(tmp_path: Path) -> None:
    """Junk in each field: nothing of pydantic's, no value, no pattern, and no field unnamed."""
    foreign = re.compile(
        "Input should|String should|Value error|Extra inputs|Field required|valid (tuple|dict)|"
        f"_type|docs/reference|should have|must fit|{SECRET[:7]}(?!-secret: )"
    )
    seen = 0
    async with gate_at(tmp_path) as gate:
        methods = Api.of(gate).table.values()
    for method in methods:
        names = [info.alias or name for name, info in method.params.model_fields.items()]
        for name in (*names, "noSuchField"):
            for words in filter(None, (refusal(method.params, name, value) for value in JUNK)):
                seen += 1
                assert not foreign.search(words), (method.name, name, words[:300])
    assert seen > 1_000
