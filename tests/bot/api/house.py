"""A gateway in this process with its API on a free port, and tokens for those who call it."""

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from bot.app import Gateway, gateway
from bot.settings import load
from core.model.access import Scope
from core.store import people, tokens
from core.store.tokens import TokenDraft

HOLDERS: dict[str, tuple[frozenset[Scope], str | None, str | None]] = {
    "agent": (frozenset({Scope.REQUEST, Scope.READ}), "main", None),
    "asker": (frozenset({Scope.REQUEST}), "main", None),
    "other": (frozenset({Scope.REQUEST, Scope.READ}), "other", None),
    "person": (frozenset({Scope.APPROVE, Scope.READ}), None, "ana"),
    "approver": (frozenset({Scope.APPROVE}), None, "ana"),
    "admin": (frozenset({Scope.ADMIN}), None, None),
    "reader": (frozenset({Scope.READ}), None, None),
}
"""Who calls in the tests: scopes, agent, person."""
ALLOWED = ("/usr/bin/echo", "/usr/bin/true", "/usr/bin/sleep", "/usr/bin/seq")


@dataclass(frozen=True)
class House:
    """A running gateway with its API."""

    gateway: Gateway
    tokens: dict[str, str]
    home: Path
    clients: list[httpx.AsyncClient] = field(default_factory=list)

    @property
    def url(self) -> str:
        """Return the base URL."""
        assert self.gateway.api_url is not None
        return self.gateway.api_url

    def client(self, who: str | None, **options: Any) -> httpx.AsyncClient:
        """Return a client with somebody's token."""
        headers = {} if who is None else {"Authorization": f"Bearer {self.tokens[who]}"}
        made = httpx.AsyncClient(base_url=self.url, headers=headers, timeout=20, **options)
        self.clients.append(made)
        return made

    async def ask(self, command: str, who: str = "agent", **more: Any) -> dict[str, Any]:
        """Ask to run a command and return the answer."""
        wish = {"command": command, "cwd": str(self.home), **more}
        answer = await self.client(who).post("/v1/requests", json=wish)
        assert answer.status_code == 201, answer.text
        found: dict[str, Any] = answer.json()
        return found


def configure(home: Path, **http: Any) -> None:
    """Write the settings of a gateway with an API and what may run without asking."""
    home.mkdir(mode=0o700, exist_ok=True)
    config = {
        "tools": {"exec": {"host": "gateway", "security": "allowlist", "ask": "on-miss"}},
        "approvals": {"exec": {"timeout": 60, "approvers": ["person:ana"]}},
        "channels": {"terminal": {"approvers": [f"uid:{os.getuid()}"]}},
        "http": {"enabled": True, "listen": "127.0.0.1:0", **http},
    }
    listed = {"allowlist": [{"pattern": path} for path in ALLOWED]}
    approvals = {"version": 1, "agents": {"main": listed, "other": listed}}
    for name, content in (("config.json5", config), ("exec-approvals.json", approvals)):
        (home / name).write_text(json.dumps(content))
        (home / name).chmod(0o600)


@asynccontextmanager
async def house(home: Path, **http: Any) -> AsyncIterator[House]:
    """Run a gateway with an API for as long as the block lasts."""
    configure(home, **http)
    async with gateway(load(home, environ={})) as running:
        found = House(running, await made_tokens(running.store), home)
        try:
            yield found
        finally:
            for client in found.clients:
                await client.aclose()


async def made_tokens(store: Any) -> dict[str, str]:
    """Make a token for each holder, and the person Ana."""
    await store.write(people.add, "ana")
    made = {}
    for name, (scopes, agent, person) in HOLDERS.items():
        draft = TokenDraft(name, scopes, agent, person, "test")
        made[name] = (await store.write(tokens.create, draft)).text
    return made
