"""Call the Web API: paced per channel, with errors translated and nothing blindly repeated.

The library's own retries are off: they repeat a call whose connection died, which may post twice.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.webhook.async_client import AsyncWebhookClient

from channels.base import UNREADABLE
from channels.slack.errors import FAILURES, Gone, translate
from channels.slack.inbound_events import Identity
from channels.slack.log_redaction import library_logger
from channels.slack.rate_limits import Pacing, of_edits, of_messages
from channels.slack.render.layout import Json
from channels.slack.render.messages import Message
from core.errors import ChannelError

CALL_TIMEOUT = aiohttp.ClientTimeout(total=10.0)
_SHORT_WAIT_MS = 2_000
_PAGE = 200
_MOST_PAGES = 5
_OK = 200
_UNNAMED = "sayso"
_TAKEN = ("", "ok", '{"ok":true}', '{"ok": true}')
"""The body of a 200 at a response URL; pages of proxies have another one."""

Answer = Mapping[str, Any]
"""The response of a method; the SDK does not type it."""
Call = Callable[[], Awaitable[Any]]


def web_client(base_url: str, session: aiohttp.ClientSession, token: str | None) -> AsyncWebClient:
    """Return a client of the Web API that repeats nothing and logs no secret."""
    return AsyncWebClient(
        token=token, base_url=base_url, session=session, logger=library_logger(), retry_handlers=[]
    )


@dataclass(slots=True)
class Calls:
    """The methods that Sayso needs."""

    client: AsyncWebClient
    _messages: Pacing = field(default_factory=of_messages)
    _edits: Pacing = field(default_factory=of_edits)
    _dms: dict[str, str] = field(default_factory=dict)

    async def who_we_are(self) -> Identity:
        """Ask whose bot token it is.

        Raises:
            ChannelError: the token is refused (``permanent``) or Slack cannot be reached.
        """
        us = await _answered(self.client.auth_test)
        with _reading():
            return Identity(
                str(us["user_id"]),
                us.get("bot_id"),
                str(us.get("user") or _UNNAMED),
                str(us.get("team_id") or ""),
            )

    async def scopes(self) -> frozenset[str] | None:
        """Return the scopes that the bot token was given, ``None`` if Slack does not say.

        Raises:
            ChannelError: the token is refused (``permanent``) or Slack cannot be reached.
        """
        try:
            answer = await self.client.auth_test()
        except FAILURES as error:
            raise translate(error) from error
        headers = {name.lower(): str(value) for name, value in answer.headers.items()}
        if "x-oauth-scopes" not in headers:
            return None
        given = headers["x-oauth-scopes"]
        return frozenset(scope.strip() for scope in given.split(",") if scope.strip())

    async def ticket(self, app_token: str) -> None:
        """Request an address to connect a socket to, and leave it unused.

        Raises:
            ChannelError: the token is refused (``permanent``) or Slack cannot be reached.
        """
        opened = await _answered(lambda: self.client.apps_connections_open(app_token=app_token))
        with _reading():
            str(opened["url"])

    async def member(self, account: str) -> Answer:
        """Return what Slack knows about a member.

        Raises:
            ChannelError: no such member or no scope (``permanent``), or Slack cannot be reached.
        """
        found = await self._soon(self._query("users.info", {"user": account}))
        with _reading():
            user: Answer = found["user"] | {}
            return user

    async def members(self, group: str) -> frozenset[str]:
        """Return the member ids of a user group, as they are now.

        Raises:
            ChannelError: no such group or no scope (``permanent``), or Slack cannot be reached.
        """
        found = await self._soon(self._query("usergroups.users.list", {"usergroup": group}))
        with _reading():
            return frozenset(str(account) for account in found["users"])

    async def author(self, channel: str, ts: str) -> str:
        """Return who wrote a message, empty if Slack does not say.

        Raises:
            ChannelError: no such message or no scope (``permanent``), or Slack cannot be reached.
        """
        wanted = {"channel": channel, "ts": ts, "limit": 1}
        found = await self._soon(self._query("conversations.replies", wanted))
        with _reading():
            # Every thread has a first message, so a response without one means nothing.
            return str(found["messages"][0].get("user", ""))

    async def conversation(self, to: str) -> str:
        """Return the id to write to: a member's direct messages have their own.

        Raises:
            ChannelError: no such member exists (``permanent``) or Slack cannot be reached.
        """
        if not to.startswith(("U", "W")):
            return to
        if to not in self._dms:
            opened = await _answered(lambda: self.client.conversations_open(users=to))
            with _reading():
                self._dms[to] = str(opened["channel"]["id"])
        return self._dms[to]

    async def post(self, body: Json, *, patient: bool = False) -> str:
        """Post a message and return its timestamp; ``patient`` also waits for a turn far off.

        Raises:
            ChannelError: refused (``permanent``), to be sent later, or ``Unconfirmed``.
        """
        call = self._json("chat.postMessage", body)
        sent = await _in_turn(self._messages, str(body["channel"]), call, patient=patient)
        with _reading():
            return str(sent["ts"])

    async def update(self, channel: str, ts: str, message: Message) -> None:
        """Replace a message; one that is gone is not restored.

        Raises:
            ChannelError: refused (``permanent``) or to be tried again.
        """
        body: Json = {"channel": channel, "ts": ts, "text": message.text}
        body |= {"blocks": message.blocks, "parse": "none", "link_names": False}
        try:
            await _in_turn(self._edits, "", self._json("chat.update", body))
        except Gone:
            return

    async def whisper(self, body: Json) -> None:
        """Show a message to one member only.

        Raises:
            ChannelError: refused, or Slack cannot be reached.
        """
        await self._soon(self._json("chat.postEphemeral", body))

    async def respond(self, url: str, message: Message, *, replace: bool = False) -> None:
        """Answer a command, visible only to its member, or ``replace`` the pressed message.

        Raises:
            ChannelError: refused, or Slack cannot be reached.
        """
        hook = AsyncWebhookClient(
            url, session=self.client.session, logger=library_logger(), retry_handlers=[]
        )
        how: Json = {"replace_original": True} if replace else {"response_type": "ephemeral"}
        body = how | {"text": message.text, "blocks": message.blocks}
        try:
            answer = await hook.send_dict(body)
        except FAILURES as error:
            raise translate(error) from error
        if answer.status_code != _OK:
            raise ChannelError(f"Slack rejected an answer with HTTP {answer.status_code}.")
        if str(answer.body).strip() not in _TAKEN:
            raise ChannelError("Something that is not Slack took an answer for it.")

    async def history(self, channel: str, thread: str, oldest: str) -> list[Answer]:
        """Return messages of a channel or thread since a timestamp, with their metadata.

        Raises:
            ChannelError: the scope is missing (``permanent``) or Slack cannot be reached.
        """
        method = "conversations.replies" if thread else "conversations.history"
        wanted: dict[str, object] = {"channel": channel, "oldest": oldest, "limit": _PAGE}
        wanted |= {"include_all_metadata": True} | ({"ts": thread} if thread else {})
        found: list[Answer] = []
        for _ in range(_MOST_PAGES):
            page = await self._soon(self._query(method, wanted))
            with _reading():
                found += [one for one in page.get("messages") or () if "ts" in one]
                cursor = (page.get("response_metadata") or {}).get("next_cursor", "")
            if not cursor:
                break
            wanted["cursor"] = cursor
        return found

    def _query(self, method: str, wanted: Mapping[str, object]) -> Call:
        return lambda: self.client.api_call(method, http_verb="GET", params=dict(wanted))

    def _json(self, method: str, body: Json) -> Call:
        return lambda: self.client.api_call(method, json=dict(body))

    async def _soon(self, call: Call) -> Answer:
        try:
            return await _answered(call)
        except ChannelError as error:
            if error.retry_after_ms is None or error.retry_after_ms > _SHORT_WAIT_MS:
                raise
            await asyncio.sleep(error.retry_after_ms / 1000)
        return await _answered(call)


async def _in_turn(pacing: Pacing, place: str, call: Call, *, patient: bool = False) -> Answer:
    clock = await pacing.turn(place, patient=patient)
    try:
        return await _answered(call)
    except ChannelError as error:
        if error.retry_after_ms is None:
            raise
        clock.hold(error.retry_after_ms / 1000)
        if error.retry_after_ms > _SHORT_WAIT_MS:
            raise
    await pacing.turn(place, patient=patient)
    return await _answered(call)


async def _answered(call: Call) -> Answer:
    try:
        return _data(await call())
    except FAILURES as error:
        raise translate(error) from error


@contextmanager
def _reading() -> Iterator[None]:
    """Report a response that lacks a required field as ``Unconfirmed``."""
    try:
        yield
    except UNREADABLE as error:
        raise translate(error) from error


def _data(response: Any) -> Answer:  # noqa: ANN401 - a response as the SDK hands it over
    if not isinstance(response.data, Mapping):
        raise TypeError("an answer that is no JSON object")
    return response.data
