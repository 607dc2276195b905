"""Speak Discord's REST API and gateway, as strictly as the platform, with state in memory.

In a test: ``async with DiscordServer() as server``. As a process of its own, which outlives
gateways: ``python -m tests.emulators.discord --port 0`` prints ``{"port": …, "token": …}`` and
takes what ``discord_control.CONTROLS`` lists.
"""

import asyncio
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web

from tests.emulators import discord_http as http
from tests.emulators.alone import run_alone
from tests.emulators.alterations import Alterations
from tests.emulators.discord_control import CONTROLS
from tests.emulators.discord_gateway import DIRECT_MESSAGES, GUILD_MESSAGES, Gateway
from tests.emulators.discord_interactions import Interaction
from tests.emulators.discord_objects import BOT, Json
from tests.emulators.discord_rest import ROUTES, UNAUTHENTICATED, Handler, Request, Rest
from tests.emulators.discord_rules import Refusal, check_given
from tests.emulators.discord_state import DiscordState
from tests.emulators.faults import FaultKind, FaultQueue, page_of

_API = "/api/v10"


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the bot and how it was answered."""

    method: str
    body: Json
    status: int


@dataclass(slots=True)
class DiscordServer:
    """Discord on loopback; with ``port`` 0 on a free port."""

    state: DiscordState = field(default_factory=DiscordState)
    port: int = 0
    faults: FaultQueue = field(default_factory=FaultQueue)
    calls: list[Call] = field(default_factory=list)
    buckets: dict[str, http.Pacing] = field(default_factory=dict)
    alterations: Alterations = field(default_factory=Alterations)
    gateway: Gateway = field(init=False)
    _rest: Rest = field(init=False)
    _runner: web.AppRunner | None = None

    def __post_init__(self) -> None:
        self.gateway = Gateway(self.state, alterations=self.alterations)
        self._rest = Rest(self.state, self.gateway)

    @property
    def url(self) -> str:
        """Return the value for ``channels.discord.apiBaseUrl``."""
        return f"http://127.0.0.1:{self.port}{_API}"

    def count(self, method: str) -> int:
        """Count the calls of a method that were carried out."""
        return sum(call.method == method and call.status < 300 for call in self.calls)

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 * 2**20)
        for verb, path, name, handler in ROUTES:
            app.router.add_route(verb, _API + path, self._route(name, handler))
        app.router.add_get("/gateway", self.gateway.serve)
        app.router.add_get("/gateway/", self.gateway.serve)
        app.router.add_post("/control/{action}", self._control)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port, reuse_address=True)
        await site.start()
        self.port = self._runner.addresses[0][1]
        self.gateway.url = f"ws://127.0.0.1:{self.port}/gateway"
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.gateway.hang_up(1012)
        if self._runner is not None:
            await self._runner.cleanup()

    async def press(self, channel: int, message: int, user: int, button: str) -> Interaction:
        """Press a button, named by its label or custom id.

        Raises:
            LookupError: the message has no such button.
        """
        return await self._pressed(self.state.message(channel, message), user, button)

    async def choose(self, user: int, label: str) -> Interaction:
        """Press a button of the newest message that has it, including private replies.

        Raises:
            LookupError: that person sees no such button.
        """
        offering = self._offering(user, label)
        if not offering:
            raise LookupError(f"nothing that {user} sees offers {label!r}")
        return await self._pressed(max(offering, key=lambda one: int(one["id"])), user, label)

    def offers(self, user: int, label: str) -> bool:
        """Return whether a person sees a button with this label."""
        return bool(self._offering(user, label))

    def _offering(self, user: int, label: str) -> list[Json]:
        replies = (
            reply
            for one in self.state.interactions.values()
            if one.person == user or not one.ephemeral
            for reply in one.replies
        )
        kept = (message for place in self.state.channels for message in self.messages(place))
        return [one for one in (*replies, *kept) if label in _labels(one)]

    async def _pressed(self, message: Json, user: int, button: str) -> Interaction:
        for row in message["components"]:
            for one in row["components"]:
                if button in (one["label"], one["custom_id"]):
                    data = {"custom_id": one["custom_id"], "component_type": 2}
                    place = int(message["channel_id"])
                    return await self.interact(place, user, 3, {"data": data}, message)
        raise LookupError(f"message {message['id']} has no button {button!r}")

    async def slash(self, channel: int, user: int, name: str, **options: str) -> Interaction:
        """Send a registered application command.

        Raises:
            LookupError: no such command is registered.
        """
        command = next((one for one in self.state.commands if one["name"] == name), None)
        if command is None:
            raise LookupError(f"no command {name!r}")
        check_given(command, options)
        kinds = {option["name"]: option["type"] for option in command["options"]}
        given = [
            {"name": key, "type": kinds[key], "value": int(value) if kinds[key] == 4 else value}
            for key, value in options.items()
        ]
        data = {"id": command["id"], "name": name, "type": 1, "options": given}
        return await self.interact(channel, user, 2, {"data": data})

    async def interact(
        self, channel: int, user: int, kind: int, extra: Json, source: Json | None = None
    ) -> Interaction:
        """Give an interaction to the bot; ``source`` is the message whose button was pressed."""
        made = self.state.interaction(channel, user, kind, extra, source)
        await self.gateway.emit("INTERACTION_CREATE", made.payload)
        return made

    async def redeliver(self, interaction: Interaction) -> None:
        """Give an interaction to the bot again, as a replay does."""
        await self.gateway.emit("INTERACTION_CREATE", interaction.payload)

    async def say(self, channel: int, user: int, text: str, **extra: Any) -> Json:
        """Type a message; ``reply_to`` is a message id, ``ping`` whether the reply pings."""
        content: Json = {"content": text, **extra}
        reply_to, ping = content.pop("reply_to", None), content.pop("ping", True)
        mentioned = f"<@{BOT}>" in text
        if reply_to is not None:
            content["type"] = 19
            content["message_reference"] = {"message_id": str(reply_to), "channel_id": str(channel)}
            content["referenced_message"] = self.state.message(channel, reply_to)
            mentioned = mentioned or ping
        if mentioned:
            content["mentions"] = [self.state.person(BOT)]
        guild = self.state.guild_of(channel)
        if guild is not None:
            content["guild_id"] = str(guild)
            roles = self.state.held(user)
            content["member"] = {"roles": roles, "joined_at": None, "flags": 0}
        message = self.state.add_message(channel, user, content)
        needs = DIRECT_MESSAGES if guild is None else GUILD_MESSAGES
        await self.gateway.emit("MESSAGE_CREATE", message, needs)
        return message

    def messages(self, channel: int) -> list[Json]:
        """Return a channel's messages in order."""
        return self.state.messages(channel)

    async def until(self, met: Callable[[], bool], seconds: float = 10.0) -> None:
        """Wait until a condition holds."""
        await self.state.until(met, seconds)

    def _route(self, name: str, handler: Handler) -> Callable[[web.Request], Any]:
        async def serve(request: web.Request) -> web.StreamResponse:
            call = await http.parsed(request)
            fault = self.faults.strike(name)
            pacing = self.buckets.get(name)
            if (page := page_of(fault)) is not None:
                return await self._answered(name, call, page)
            try:
                if fault is not None and fault.kind is FaultKind.DROP:
                    http.drop(request)
                await http.refuse_or_delay(fault)
                self._authorise(request, name)
                if pacing is not None:
                    pacing.admit(call.ids.get("channel", ""))
                result = await handler(self._rest, call)
                response = http.answer(self.alterations.apply(name, result))
            except Refusal as refusal:
                return await self._answered(name, call, http.refused(refusal))
            await self.state.notify()
            await http.lose_or_hold(request, fault)
            if pacing is not None:
                pacing.told(call.ids.get("channel", ""), response)
            return await self._answered(name, call, response)

        return serve

    async def _answered(self, name: str, request: Request, response: web.Response) -> web.Response:
        self.calls.append(Call(name, request.body, response.status))
        await self.state.notify()
        return response

    def _authorise(self, request: web.Request, name: str) -> None:
        given = request.headers.get("Authorization", "")
        if name not in UNAUTHENTICATED and given != f"Bot {self.state.token}":
            raise Refusal(401, 0, "401: Unauthorized")

    async def _control(self, request: web.Request) -> web.Response:
        action = CONTROLS.get(request.match_info["action"])
        if action is None:
            raise web.HTTPNotFound(text=f"no control; there are {sorted(CONTROLS)}")
        try:
            return http.answer(await action(self, await request.json()))
        except LookupError as error:
            raise web.HTTPNotFound(text=str(error)) from error


def _labels(message: Json) -> list[str]:
    return [one["label"] for row in message["components"] for one in row["components"]]


async def _serve(port: int) -> None:
    async with DiscordServer(port=port) as server:
        sys.stdout.write(json.dumps({"port": server.port, "token": server.state.token}) + "\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    run_alone(_serve)
