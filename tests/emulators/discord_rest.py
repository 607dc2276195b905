"""Carry out the REST calls on the emulator's state."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from tests.emulators.discord_gateway import Gateway
from tests.emulators.discord_interactions import change
from tests.emulators.discord_objects import BOT, Json
from tests.emulators.discord_rules import Refusal, check_commands, check_message, check_thread
from tests.emulators.discord_state import DiscordState

_PUBLIC_THREAD = 11


@dataclass(frozen=True, slots=True)
class Request:
    """One call as received: ids in the path, JSON body, names and texts of files, query."""

    ids: dict[str, str]
    body: Json
    files: dict[str, str] = field(default_factory=dict)
    commands: list[Json] = field(default_factory=list)
    query: dict[str, str] = field(default_factory=dict)

    def number(self, name: str) -> int:
        """Return an id from the path."""
        return int(self.ids[name])


@dataclass(slots=True)
class Rest:
    """The calls, by name."""

    state: DiscordState
    gateway: Gateway

    async def get_me(self, request: Request) -> Json:
        """Return the bot."""
        return self.state.person(BOT)

    async def get_user(self, request: Request) -> Json:
        """Return a person, or refuse."""
        number = request.number("user")
        if number in self.state.nobody:
            raise Refusal(404, 10013, "Unknown User")
        return self.state.person(number)

    async def get_guild(self, request: Request) -> Json:
        """Return a server with its roles, or refuse."""
        number = request.number("guild")
        if number not in self.state.guilds:
            raise Refusal(404, 10004, "Unknown Guild")
        return self.state.guild(number)

    async def get_application(self, request: Request) -> Json:
        """Return the application."""
        named = {"id": str(BOT), "name": "Sayso", "description": "", "icon": None, "summary": ""}
        open_to = {"bot_public": False, "bot_require_code_grant": False, "verify_key": "00"}
        flags = {"flags": 1 << 19 if self.state.privileged else 0}
        endpoint = {"interactions_endpoint_url": self.state.endpoint}
        return {**named, **open_to, **flags, **endpoint, "owner": self.state.person(1)}

    async def get_gateway(self, request: Request) -> Json:
        """Return the address of the gateway, and how often a client may identify."""
        starts = {"total": 1000, "remaining": 999, "reset_after": 1, "max_concurrency": 1}
        return {"url": self.gateway.url, "shards": 1, "session_start_limit": starts}

    async def get_commands(self, request: Request) -> list[Json]:
        """Return the registered commands."""
        return self.state.commands

    async def put_commands(self, request: Request) -> list[Json]:
        """Replace the registered commands."""
        check_commands(request.commands)
        extra = {"application_id": str(BOT), "version": "1"}
        self.state.commands = [
            {**command, **extra, "id": str(self.state.new_id())} for command in request.commands
        ]
        return self.state.commands

    async def create_dm(self, request: Request) -> Json:
        """Open a direct message."""
        return self.state.direct_channel(int(request.body["recipient_id"]))

    async def get_channel(self, request: Request) -> Json:
        """Return a channel."""
        return self.state.channel(request.number("channel"))

    async def edit_channel(self, request: Request) -> Json:
        """Unarchive a thread, or archive it."""
        channel = request.number("channel")
        if channel in self.state.locked:
            raise Refusal(400, 50083, "Thread is archived")
        if request.body.get("archived") is False:
            self.state.archived.discard(channel)
        return self.state.channel(channel)

    async def create_thread(self, request: Request) -> Json:
        """Open a public thread."""
        check_thread(request.body)
        return self.state.open_thread(request.number("channel"), request.body["name"])

    async def create_thread_of_message(self, request: Request) -> Json:
        """Open the thread of a message, which has the message's id."""
        check_thread({**request.body, "type": _PUBLIC_THREAD})
        channel, message = request.number("channel"), request.number("message")
        self.state.message(channel, message)
        return self.state.open_thread(channel, request.body["name"], message)

    async def create_message(self, request: Request) -> Json:
        """Post a message, once for each enforced nonce."""
        channel, body = request.number("channel"), request.body
        self.state.reachable(channel)
        if channel in self.state.archived:
            if channel in self.state.locked:
                raise Refusal(400, 50083, "Thread is archived")
            self.state.archived.discard(channel)  # a message unarchives a thread that is not locked
        check_message(body, len(request.files))
        once = (channel, str(body.get("nonce", "")))
        known = self.state.known(once) if body.get("enforce_nonce") else None
        if known is not None:
            return known
        content: Json = {
            key: body[key]
            for key in ("content", "components", "flags", "tts", "nonce", "message_reference")
            if key in body
        }
        content["attachments"] = [
            {"id": "1", "filename": name, "size": len(text), "url": "", "proxy_url": "", "_": text}
            for name, text in request.files.items()
        ]
        message = self.state.add_message(channel, BOT, content)
        if body.get("enforce_nonce"):
            self.state.nonces[once] = (int(message["id"]), time.monotonic())
        return message

    async def get_messages(self, request: Request) -> list[Json]:
        """Return the messages after an id, the newest first; needs Read Message History."""
        channel = request.number("channel")
        self.state.reachable(channel)
        if channel in self.state.unreadable:
            raise Refusal(403, 50013, "Missing Permissions")
        after, limit = int(request.query.get("after", 0)), int(request.query.get("limit", 50))
        later = [one for one in self.state.messages(channel) if int(one["id"]) > after]
        return later[:limit][::-1]

    async def edit_message(self, request: Request) -> Json:
        """Edit a message of the bot."""
        channel = request.number("channel")
        self.state.reachable(channel)
        message = self.state.message(channel, request.number("message"))
        if channel in self.state.archived:
            raise Refusal(400, 50083, "Thread is archived")
        if message["author"]["id"] != str(BOT):
            raise Refusal(403, 50005, "Cannot edit a message authored by another user")
        check_message(request.body, len(request.files), editing=True)
        return change(message, request.body)

    async def callback(self, request: Request) -> Json:
        """Take the first answer to an interaction."""
        data = dict(request.body.get("data") or {})
        if request.body["type"] in (4, 7):
            check_message(data, len(request.files), editing=request.body["type"] == 7)
        number = request.number("interaction")
        self.state.first_answer(number, request.ids["token"], request.body)
        return {"interaction": {"id": str(number), "type": request.body["type"]}}

    async def edit_original(self, request: Request) -> Json:
        """Edit the first answer to an interaction."""
        check_message(request.body, len(request.files), editing=True)
        return self.state.later_answer(request.ids["token"], first=True, body=request.body)

    async def get_original(self, request: Request) -> Json:
        """Return the first answer to an interaction."""
        return self.state.first_message(request.ids["token"])

    async def followup(self, request: Request) -> Json:
        """Take a further answer to an interaction."""
        check_message(request.body, len(request.files))
        return self.state.later_answer(request.ids["token"], first=False, body=request.body)


Handler = Callable[[Rest, Request], Awaitable[object]]
ROUTES: tuple[tuple[str, str, str, Handler], ...] = (
    ("GET", "/users/@me", "getMe", Rest.get_me),
    ("GET", "/users/{user}", "getUser", Rest.get_user),
    ("GET", "/guilds/{guild}", "getGuild", Rest.get_guild),
    ("GET", "/oauth2/applications/@me", "getApplication", Rest.get_application),
    ("GET", "/gateway/bot", "getGateway", Rest.get_gateway),
    ("GET", "/applications/{app}/commands", "getCommands", Rest.get_commands),
    ("PUT", "/applications/{app}/commands", "putCommands", Rest.put_commands),
    ("POST", "/users/@me/channels", "createDm", Rest.create_dm),
    ("GET", "/channels/{channel}", "getChannel", Rest.get_channel),
    ("PATCH", "/channels/{channel}", "editChannel", Rest.edit_channel),
    ("POST", "/channels/{channel}/threads", "createThread", Rest.create_thread),
    (
        "POST",
        "/channels/{channel}/messages/{message}/threads",
        "createThread",
        Rest.create_thread_of_message,
    ),
    ("POST", "/channels/{channel}/messages", "createMessage", Rest.create_message),
    ("GET", "/channels/{channel}/messages", "getMessages", Rest.get_messages),
    ("PATCH", "/channels/{channel}/messages/{message}", "editMessage", Rest.edit_message),
    ("POST", "/interactions/{interaction}/{token}/callback", "callback", Rest.callback),
    ("PATCH", "/webhooks/{app}/{token}/messages/@original", "editOriginal", Rest.edit_original),
    ("GET", "/webhooks/{app}/{token}/messages/@original", "getOriginal", Rest.get_original),
    ("POST", "/webhooks/{app}/{token}", "followup", Rest.followup),
)
"""HTTP method, path, name for faults and the call log, and the function that carries it out."""
UNAUTHENTICATED = frozenset({"callback", "editOriginal", "getOriginal", "followup"})
"""Calls whose token is in the path."""
