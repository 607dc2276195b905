"""Load ``execution``: the users that commands run as."""

import pytest
from pydantic import ValidationError

from core.settings.isolation import ExecutionSection, RuntimeSection
from tests.support.tables import rows

USERS = [
    {"user": "sayso_alice", "agents": ["coder"], "people": ["telegram:1"]},
    {"user": "sayso_bob", "agents": ["writer"], "people": ["telegram:2", "uid:1000"]},
]


def test_off_by_default() -> None:
    """S2 "non-breaking": no command runs as another user."""
    assert ExecutionSection().user_of("coder", "uid:1000") == ""
    assert not ExecutionSection().run_as_unix_user


@pytest.mark.parametrize(
    ("agent", "account", "user"),
    [
        ("coder", "telegram:2", "sayso_alice"),
        ("main", "telegram:2", "sayso_bob"),
        ("main", "uid:1000", "sayso_bob"),
        ("main", "telegram:3", "sayso_executor"),
    ],
)
def test_an_agents_user_counts_before_who_asks(agent: str, account: str, user: str) -> None:
    """And an agent without one gets the common one (S2 "if user not linked")."""
    section = ExecutionSection.model_validate({"runAsUnixUser": True, "users": USERS})

    assert section.user_of(agent, account) == user


@pytest.mark.parametrize("kind", ["agents", "people"])
def test_nobody_has_two_users(kind: str) -> None:
    """Which of them applied would depend on order."""
    users = [{"user": "a", kind: ["x"]}, {"user": "b", kind: ["x"]}]

    with pytest.raises(ValidationError, match="listed twice"):
        ExecutionSection.model_validate({"users": users})


@rows("name", ["root", "", "Alice", "a b", "-x", "%wheel", "#0", "a" * 33, "ALL"])
def test_what_is_no_login_name_is_refused(name: str) -> None:
    """It becomes a word of a sudo command line."""
    with pytest.raises(ValidationError):
        ExecutionSection.model_validate({"executorUnixUser": name})


def test_the_bounds_of_the_numbers() -> None:
    """Defaults as S2 has them."""
    section = ExecutionSection()

    assert (section.executor_pool.max_executors, section.executor_pool.idle_timeout_ms) == (
        10,
        60000,
    )
    assert section.ipc.connection_timeout_ms == 5000
    assert (section.session_tokens.expiration_ms, section.session_tokens.max_uses) == (86400000, 1)
    for bad in ({"executorPool": {"maxExecutors": 0}}, {"sessionTokens": {"maxUses": 0}}):
        with pytest.raises(ValidationError):
            ExecutionSection.model_validate(bad)


@pytest.mark.parametrize("command", [[], ["agent"], ["./agent", "/x"]])
def test_a_runtime_begins_with_an_absolute_path(command: list[str]) -> None:
    """It is started as another user, in whose folders a relative one may be anything."""
    with pytest.raises(ValidationError, match="must begin with an absolute path"):
        RuntimeSection.model_validate({"command": command})
    assert RuntimeSection.model_validate({"command": ["/opt/agent", "x"]}).command[1:] == ("x",)


@pytest.mark.parametrize("env", ["A", "=b", "1A=b", "A B=c"])
def test_a_runtimes_variable_has_a_name_and_a_value(env: str) -> None:
    """The value may hold anything, further equals signs too."""
    runtime = {"command": ["/opt/agent"]}
    with pytest.raises(ValidationError, match="NAME=VALUE"):
        RuntimeSection.model_validate({**runtime, "env": [env]})
    section = RuntimeSection.model_validate({**runtime, "env": ["A=b=c", "B="]})
    assert section.variables == {"A": "b=c", "B": ""}


@pytest.mark.parametrize("url", ["ftp://a", "https://u:p@a.example/", "https://a.example/?q=1"])
def test_a_runtimes_model_is_at_a_plain_address(url: str) -> None:
    """No user and no query, which its own client would lose."""
    runtime = {"command": ["/opt/agent"]}
    with pytest.raises(ValidationError, match="without a user or a query"):
        RuntimeSection.model_validate({**runtime, "baseUrl": url})
    assert RuntimeSection.model_validate({**runtime, "baseUrl": "https://a.example/v1"}).base_url
