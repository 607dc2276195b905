"""Build what runs agents from the settings: their runtimes, and their keys, read each time."""

import asyncio
import os
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

from bot.settings import Settings
from bot.settings.secrets import SecretMissing, fetch
from core.errors import SaysoError
from core.isolation.agents.agents import Agents
from core.isolation.agents.key_command import printed_key
from core.isolation.agents.runtime import Runtime
from core.isolation.executors import Executors
from core.model.identity import AgentId
from core.planning.environment import account_of
from core.ports import SpawnGuard
from core.settings.isolation import KeySection, ModelApi, RuntimeSection


class _Api(NamedTuple):
    """How to call an API, and the variables that pass this to a program."""

    url: str
    header: str
    prefix: str
    env: Mapping[str, str]


_APIS = MappingProxyType(
    {
        ModelApi.ANTHROPIC: _Api(
            "https://api.anthropic.com",
            "x-api-key",
            "",
            {"ANTHROPIC_BASE_URL": "{url}", "ANTHROPIC_API_KEY": "{token}"},
        ),
        ModelApi.GEMINI: _Api(
            "https://generativelanguage.googleapis.com",
            "x-goog-api-key",
            "",
            {"GOOGLE_GEMINI_BASE_URL": "{url}", "GEMINI_API_KEY": "{token}"},
        ),
        ModelApi.OPENAI: _Api(
            "https://api.openai.com",
            "Authorization",
            "Bearer ",
            {"OPENAI_BASE_URL": "{url}/v1", "OPENAI_API_KEY": "{token}"},
        ),
    }
)


def agents_of(settings: Settings, executors: Executors | None, guard: SpawnGuard) -> Agents | None:
    """Return what runs agents, ``None`` if nothing runs as other users."""
    if executors is None:
        return None

    def runtime(agent: AgentId) -> Runtime | None:
        found = settings.agents.runtime(agent)
        return None if found is None else runtime_of(found)

    return Agents(executors, runtime, Keys(settings).key, guard)


def prompt_folders(settings: Settings) -> Mapping[AgentId, Callable[[str], str]] | None:
    """Return the agents that take prompts, and the folder that one of an account works in.

    ``None`` if nothing runs as other users, so that no agent can be started.
    """
    if not settings.execution.run_as_unix_user:
        return None
    entries = settings.agents.entries
    runtimes = {one.id: one.runtime for one in entries if one.runtime is not None}
    return {agent: partial(_folder, settings, agent, one) for agent, one in runtimes.items()}


def _folder(settings: Settings, agent: AgentId, runtime: RuntimeSection, account: str) -> str:
    found = runtime.cwd or settings.sandbox.workspace
    if found is not None:
        return found
    user = account_of(settings.execution.user_of(agent, account))
    return "/" if user is None else user[1]


def runtime_of(section: RuntimeSection) -> Runtime:
    """Return how an agent is started."""
    api = _APIS[section.api]
    return Runtime(
        section.command,
        section.service or section.api.value,
        section.base_url or api.url,
        api.header,
        api.prefix,
        {**api.env, **section.variables},
    )


class Keys:
    """The keys of services; each is read when needed, and not kept."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    async def key(self, service: str, account: str) -> str:
        """Return the key of a service for the person who gave a prompt.

        Raises:
            SaysoError: there is none; the message contains no secret.
        """
        found = self._settings.secrets.key_of(service, account)
        if found is None:
            raise SaysoError(f"secrets.keys has none for `{service}`")
        if found.command:
            return await printed_key(found.command)
        return await asyncio.to_thread(self._stored, found)

    def _stored(self, found: KeySection) -> str:
        kind, name = ("env", found.env) if found.env else ("file", found.file)
        try:
            return fetch({kind: name}, self._settings.home, os.environ)
        except SecretMissing as missing:
            raise SaysoError(str(missing)) from missing
