"""Settings of ``execution``: agents' commands run as other Unix users (S2)."""

import re
from enum import StrEnum
from typing import Annotated, Self

from pydantic import AfterValidator, Field, field_validator, model_validator

from core.settings.base import AbsolutePath, Section, Word, Words, section

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


class TerminalsSection(Section):
    """``execution.terminals``: shells of other Unix users, for people (`sayso terminal`)."""

    unasked: Words = Field(
        default=(),
        description="who may open one without being asked, as `sayso show` names who asked: "
        "uid:1000; never an agent's token or user",
    )
    most: Annotated[int, Field(ge=1, le=64)] = Field(
        default=4, description="terminals at a time; each holds one of executorPool.maxExecutors"
    )
    idle_timeout_ms: Milliseconds = Field(
        default=1_800_000, description="ms after which one ends if nothing is typed or shown"
    )
    longest_ms: Annotated[int, Field(ge=1, le=_DAY_MS)] = Field(
        default=8 * 60 * 60 * 1000, description="ms that one may last at most"
    )
    record: bool = Field(
        default=False,
        description="record what each one shows, unredacted, as HOME/terminals/ID.cast",
    )
    record_bytes: Annotated[int, Field(ge=1024, le=1 << 40)] = Field(
        default=64 << 20, description="bytes that one recording may have; what follows is left out"
    )


_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_URL = re.compile(r"https?://[^\s/?#@]+(/[^\s?#]*)?")


class ModelApi(StrEnum):
    """The APIs of models that an agent's requests may be sent on to."""

    ANTHROPIC = "anthropic"
    GEMINI = "gemini"
    OPENAI = "openai"


class RuntimeSection(Section):
    """``agents.list[].runtime``: the program that is the agent."""

    command: Words = Field(
        default=(),
        description="what starts it: a program that speaks the Agent Client Protocol, by its "
        "absolute path, and its arguments",
    )
    api: Annotated[ModelApi, Field(strict=False)] = Field(
        default=ModelApi.ANTHROPIC,
        description="the API of its model: anthropic, gemini or openai",
    )
    service: Word | None = Field(
        default=None, description="whose key it gets, of secrets.keys; null: the name of the api"
    )
    base_url: Word | None = Field(
        default=None, description="where its model is; null: the public address of the api"
    )
    cwd: AbsolutePath | None = Field(
        default=None,
        description="the folder that prompts from chats work in; null: sandbox.workspace, else the "
        "home of its Unix user",
    )
    env: Words = Field(
        default=(),
        description="further variables of its environment, each NAME=VALUE; in a value `{url}` and "
        "`{token}` are where its model is asked, and with what",
    )

    @field_validator("env")
    @classmethod
    def _variables(cls, env: tuple[str, ...]) -> tuple[str, ...]:
        if any(_VARIABLE.match(one) is None for one in env):
            raise ValueError("must be NAME=VALUE")
        return env

    @property
    def variables(self) -> dict[str, str]:
        """Return the further variables by name."""
        return dict(one.split("=", 1) for one in self.env)

    @model_validator(mode="after")
    def _by_path(self) -> Self:
        if not self.command[:1] or not self.command[0].startswith("/"):
            raise ValueError("command must begin with an absolute path")
        return self

    @field_validator("base_url")
    @classmethod
    def _address(cls, url: str | None) -> str | None:
        if url is not None and _URL.fullmatch(url) is None:
            raise ValueError("must be http://… or https://…, without a user or a query")
        return url


class KeySection(Section):
    """One entry of ``secrets.keys``: a key, and where it is read each time that it is wanted."""

    service: Word = Field(description="what it is for, as agents.list[].runtime names it")
    people: Words = Field(
        default=(),
        description="whose prompts it is for, as `sayso show` names who asked; none: everybody's",
    )
    env: Word | None = Field(default=None, description="the gateway's variable that holds it")
    file: Word | None = Field(
        default=None, description="the file that holds it; a relative one is in the home"
    )
    command: Words | None = Field(
        default=None, description="the command of the gateway's user that prints it"
    )

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if sum(one is not None for one in (self.env, self.file, self.command or None)) != 1:
            raise ValueError("give one of env, file and command")
        return self


class SecretsSection(Section):
    """``secrets``: what agents need and never hold."""

    keys: Annotated[tuple[KeySection, ...], Field(strict=False)] = Field(
        default=(), description="API keys, by service, and by person where two have their own"
    )

    def key_of(self, service: str, account: str) -> KeySection | None:
        """Return where the key of a service is for an account: its own before everybody's."""
        fitting = [one for one in self.keys if one.service == service]
        own = (one for one in fitting if account in one.people)
        return next(own, next((one for one in fitting if not one.people), None))


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
    executor_pool: ExecutorPoolSection = section(
        ExecutorPoolSection, "how many executors there are"
    )
    ipc: IpcSection = section(IpcSection, "between gateway and executors")
    session_tokens: SessionTokensSection = section(
        SessionTokensSection, "what an executor shows that it serves a request"
    )
    terminals: TerminalsSection = section(
        TerminalsSection, "shells of other Unix users, for people"
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

        An agent's user counts before the requester's: what an agent runs is the agent's.
        """
        if not self.run_as_unix_user:
            return ""
        by_agent = (one.user for one in self.users if agent in one.agents)
        by_person = (one.user for one in self.users if account in one.people)
        return next(by_agent, next(by_person, self.executor_unix_user))
