"""Run a gateway in this process with its API on a free port, and tokens for its callers."""

import asyncio
import json
import os
import ssl
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx

from bot.app import Gateway, gateway
from bot.settings import load
from core.model.access import Scope
from core.store import open_store
from core.store.people import people, tokens
from core.store.people.tokens import TokenDraft

T = TypeVar("T")


@cache
def trusted_authorities() -> ssl.SSLContext:
    """Return the certificates that HTTPS trusts, read once: each client would need 40 ms for it."""
    return httpx.create_ssl_context()


HOLDERS: dict[str, tuple[frozenset[Scope], str | None, str | None]] = {
    "agent": (frozenset({Scope.REQUEST, Scope.READ}), "main", None),
    "asker": (frozenset({Scope.REQUEST}), "main", None),
    "other": (frozenset({Scope.REQUEST, Scope.READ}), "other", None),
    "person": (frozenset({Scope.APPROVE, Scope.READ}), None, "ana"),
    "approver": (frozenset({Scope.APPROVE}), None, "ana"),
    "admin": (frozenset({Scope.ADMIN}), None, None),
    "reader": (frozenset({Scope.READ}), None, None),
}
"""The callers in the tests: scopes, agent, person."""
UNLIMITED = {"rate": 100_000, "burst": 100_000, "addressRate": 100_000, "addressBurst": 100_000}
"""Rate limits that no test reaches."""
ALLOWED = ("/usr/bin/echo", "/usr/bin/true", "/usr/bin/sleep", "/usr/bin/seq")

CRITICAL = {
    "match": {"argv": ["git", "push", "--force", "<NAME>", "<NAME>"]},
    "decide": "ask",
    "tier": "critical",
    "reason": "it rewrites what others have",
}
"""A rule whose questions may require a step-up."""


@dataclass
class ApiGateway:
    """A running gateway with its API, on a loop in a thread of its own."""

    gateway: Gateway
    tokens: dict[str, str]
    home: Path
    loop: asyncio.AbstractEventLoop
    clients: dict[object, httpx.Client] = field(default_factory=dict)
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        """Return the base URL."""
        assert self.gateway.api_url is not None
        return self.gateway.api_url

    @property
    def session_cookie(self) -> str:
        """Return the name of the cookie that holds a session of the page, without TLS."""
        return f"sayso_session_{self.gateway.settings.mark}"

    @property
    def address(self) -> tuple[str, int]:
        """Return host and port."""
        parts = urlsplit(self.url)
        return parts.hostname or "", parts.port or 0

    def do(self, work: Coroutine[Any, Any, T], patience_s: float = 20) -> T:
        """Run a coroutine on the gateway's own loop."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(patience_s)

    def headers(self, who: str) -> dict[str, str]:
        """Return the header with a caller's token."""
        return {"Authorization": f"Bearer {self.tokens[who]}"}

    def client(self, who: str | None, **options: Any) -> httpx.Client:
        """Return a client with a caller's token; without options, the same one each time."""
        key: object = who if not options else object()
        if key in self.clients:
            return self.clients[key]
        headers = options.pop("headers", {}) if who is None else self.headers(who)
        options = {"verify": trusted_authorities(), **options}
        made = httpx.Client(base_url=self.url, headers=headers, timeout=20, **options)
        self.clients[key] = made
        return made

    def ask(self, command: str, who: str = "agent", wait: float = 0, **more: Any) -> dict[str, Any]:
        """Ask to run a command and return the answer."""
        wish = {"command": command, "cwd": str(self.home), **more}
        answer = self.client(who).post("/v1/requests", params={"wait": wait}, json=wish)
        assert answer.status_code == 201, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def revoke(self, who: str) -> None:
        """Revoke a token."""
        meant = self.do(self.gateway.store.read(tokens.meant, who))
        assert meant is not None
        self.do(self.gateway.store.write(tokens.revoke, meant.id))


def configure(
    home: Path,
    *,
    tooled: bool = False,
    pending: dict[str, int] | None = None,
    timeout: int = 60,
    store: str | None = None,
    step_up: bool = False,
    nodes: str | None = None,
    change: Callable[[dict[str, Any]], None] | None = None,
    **http: Any,
) -> None:
    """Write the settings of a gateway with an API and what may run without asking.

    ``tooled``: the agent main is granted the tool Exec. ``pending`` bounds what waits for people,
    who have ``timeout`` seconds. ``store`` is the URL of a database other than the home's own.
    ``nodes`` is the address that nodes connect to. ``step_up``: `git push --force NAME NAME` is of
    a tier that requires one. ``change`` edits the settings before they are written.
    """
    home.mkdir(mode=0o700, exist_ok=True)
    config: dict[str, Any] = {
        "tools": {"exec": {"host": "gateway", "security": "allowlist", "ask": "on-miss"}},
        "approvals": {
            "exec": {"timeout": timeout, "approvers": ["person:ana"], "pending": pending or {}}
        },
        "channels": {"terminal": {"approvers": [f"uid:{os.getuid()}"]}},
        "http": {"enabled": True, "listen": "127.0.0.1:0", **http},
    }
    if step_up:
        config["tools"]["exec"]["rules"] = [CRITICAL]
        config["approvals"]["exec"]["tiers"] = {"critical": {"stepUp": True}}
    if nodes is not None:
        config["nodes"] = {"enabled": True, "listen": nodes}
    if store is not None:
        config["store"] = {"url": store}
    if tooled:
        grants = {"tools": ["Exec"], "files": {"read": ["/usr"], "write": [str(home)]}}
        config["agents"] = {"list": [{"id": "main", "capabilities": grants}]}
    if change is not None:
        change(config)
    listed = {"allowlist": [{"pattern": path} for path in ALLOWED]}
    approvals = {"version": 1, "agents": {"main": listed, "other": listed}}
    for name, content in (("config.json5", config), ("exec-approvals.json", approvals)):
        (home / name).write_text(json.dumps(content))
        (home / name).chmod(0o600)


@contextmanager
def api_gateway(
    home: Path,
    *,
    tooled: bool = False,
    pending: dict[str, int] | None = None,
    timeout: int = 60,
    store: str | None = None,
    step_up: bool = False,
    nodes: str | None = None,
    change: Callable[[dict[str, Any]], None] | None = None,
    **http: Any,
) -> Iterator[ApiGateway]:
    """Run a gateway with an API for as long as the block lasts."""
    configure(
        home,
        tooled=tooled,
        pending=pending,
        timeout=timeout,
        store=store,
        step_up=step_up,
        nodes=nodes,
        change=change,
        **http,
    )
    ready: Future[ApiGateway] = Future()
    thread = threading.Thread(target=asyncio.run, args=(_live(home, ready),))
    thread.start()
    found = ready.result(30)
    try:
        yield found
    finally:
        for client in found.clients.values():
            client.close()
        found.loop.call_soon_threadsafe(found.ended.set)
        thread.join(20)
        assert not thread.is_alive(), "the gateway did not stop"


async def _live(home: Path, ready: "Future[ApiGateway]") -> None:
    try:
        async with gateway(load(home, environ={})) as running:
            made = await made_tokens(running.store)
            found = ApiGateway(running, made, home, asyncio.get_running_loop())
            ready.set_result(found)
            await found.ended.wait()
    except BaseException as failure:
        if ready.done():
            raise
        ready.set_exception(failure)


async def made_tokens(store: Any) -> dict[str, str]:
    """Make a token for each holder, and the person Ana."""
    await store.write(people.add, "ana")
    made = {}
    for name, (scopes, agent, person) in HOLDERS.items():
        draft = TokenDraft(name, scopes, agent, person, "test")
        made[name] = (await store.write(tokens.create, draft)).text
    return made


async def made_before(home: Path) -> dict[str, str]:
    """Make the tokens of a gateway that is not running yet."""
    store = await open_store(f"sqlite:///{home / 'state.db'}")
    try:
        return await made_tokens(store)
    finally:
        await store.close()
