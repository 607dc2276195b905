"""Settings of ``execution``: agents' commands run as other Unix users (S2)."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field, field_validator

from core.settings.base import Section, Words

DEFAULT_USER = "sayso_executor"
LOGIN_NAME = re.compile(r"[a-z_][a-z0-9_-]{0,31}")
_DAY_MS = 24 * 60 * 60 * 1000
_LONGEST_MS = 30 * _DAY_MS


def _login(name: str) -> str:
    if LOGIN_NAME.fullmatch(name) is None:
        raise ValueError("must be a login name: a-z, 0-9, _ and -, 32 characters at most")
    if name == "root":
        raise ValueError("must not be root")
    return name


LoginName = Annotated[str, AfterValidator(_login)]
Milliseconds = Annotated[int, Field(ge=1, le=_LONGEST_MS)]


class ExecutorUserSection(Section):
    """One entry of ``execution.users``."""

    user: LoginName = Field(description="the Unix user; `sayso executor user add` creates it")
    agents: Words = Field(default=(), description="the agents whose commands run as this user")
    people: Words = Field(
        default=(),
        description="who else's commands run as this user, as `sayso show` names who asked: "
        "uid:1000, telegram:42, api:…",
    )


class ExecutorPoolSection(Section):
    """``execution.executorPool``: how many executors there are."""

    max_executors: Annotated[int, Field(ge=1, le=128)] = Field(
        default=10, description="executors at a time; more runs wait, one session after the other"
    )
    warm_spare: bool = Field(
        default=False, description="keep one executor ready for each user that ran something"
    )
    idle_timeout_ms: Milliseconds = Field(
        default=60_000, description="ms after which a spare that nobody wanted ends"
    )


class IpcSection(Section):
    """``execution.ipc``: between gateway and executors."""

    connection_timeout_ms: Milliseconds = Field(
        default=5000, description="ms within which an executor must answer"
    )


class SessionTokensSection(Section):
    """``execution.sessionTokens``: what an executor shows that it serves a request."""

    expiration_ms: Milliseconds = Field(default=_DAY_MS, description="ms until a token expires")
    max_uses: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=1, description="requests that one token may begin"
    )


class ExecutionSection(Section):
    """``execution``: who commands of the host gateway run as."""

    run_as_unix_user: bool = Field(
        default=False,
        description="run commands of the host gateway as other Unix users; needs "
        "`sudo sayso executor setup`",
    )
    executor_unix_user: LoginName = Field(
        default=DEFAULT_USER, description="the user for agents and people without one of their own"
    )
    users: Annotated[tuple[ExecutorUserSection, ...], Field(strict=False)] = Field(
        default=(), description="agents and people with a Unix user of their own"
    )
    executor_pool: ExecutorPoolSection = Field(
        default_factory=ExecutorPoolSection, description="how many executors there are"
    )
    ipc: IpcSection = Field(default_factory=IpcSection, description="between gateway and executors")
    session_tokens: SessionTokensSection = Field(
        default_factory=SessionTokensSection,
        description="what an executor shows that it serves a request",
    )
    debug: bool = Field(default=False, description="log every call between gateway and executors")

    @field_validator("users")
    @classmethod
    def _each_once(cls, users: tuple[ExecutorUserSection, ...]) -> tuple[ExecutorUserSection, ...]:
        for kind in ("agents", "people"):
            names = [name for entry in users for name in getattr(entry, kind)]
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise ValueError(f"{twice[0]!r} of {kind} is listed twice; one user each")
        return users

    def user_of(self, agent: str, account: str) -> str:
        """Return the Unix user for a request, ``""`` where it is the gateway's own.

        An agent's user counts before that of who asks: what an agent runs is the agent's.
        """
        if not self.run_as_unix_user:
            return ""
        by_agent = (one.user for one in self.users if agent in one.agents)
        by_person = (one.user for one in self.users if account in one.people)
        return next(by_agent, next(by_person, self.executor_unix_user))
