"""Check a set-up at Discord: token, endpoint, intent, servers, people and roles; send nothing.

No gateway connection is made: a second one with the same token would receive presses meant for the
first.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial

import discord
from discord.http import Route

from channels.base import Proof
from channels.discord.outbound import calling
from channels.discord.settings import PERSON, ROLE, DiscordSettings
from core.errors import ChannelError
from core.text.render import redact

ENDPOINT = (
    "The application has an Interactions Endpoint URL, so Discord sends button presses there and "
    "not here."
    " Clear it in the Developer Portal (General Information)."
)
_INTENT = (
    "The Message Content intent is off. Turn it on in the Developer Portal (Bot, Privileged "
    "Gateway Intents), or set channels.discord.messageContent to false."
)
_MENTIONS = "not asked for: in servers plain text counts where it mentions the bot"


async def prove(settings: DiscordSettings, people: tuple[str, ...]) -> tuple[Proof, ...]:
    """Check everything that the settings name, and these approver references."""
    Route.BASE = settings.api_base_url
    async with discord.Client(intents=discord.Intents.none()) as client:
        try:
            async with calling():
                await client.login(settings.token.get_secret_value())
        except ChannelError as error:
            return (Proof("token", ok=False, detail=str(error)),)
        return tuple([proof async for proof in _proofs(client, settings, people)])


async def _proofs(
    client: discord.Client, settings: DiscordSettings, people: tuple[str, ...]
) -> AsyncIterator[Proof]:
    yield Proof("token", ok=True, detail=f"signed in as {client.user}")
    application = client.application
    if application is not None:
        stolen = application.interactions_endpoint_url is not None
        yield Proof("endpoint", ok=not stolen, detail=ENDPOINT if stolen else "none, as required")
        yield _intent(application.flags, settings)
    roles: dict[str, str] = {}
    for guild in settings.guilds:
        yield await _tried(f"server {guild}", partial(_server, client, guild, roles))
    for ref in people:
        if ref.startswith(ROLE):
            yield _role(ref, roles)
        elif not ref.startswith(PERSON):
            yield await _tried(ref, partial(_person, client, ref))


def _intent(flags: discord.ApplicationFlags, settings: DiscordSettings) -> Proof:
    if not settings.message_content:
        return Proof("Message Content intent", ok=True, detail=_MENTIONS)
    granted = flags.gateway_message_content or flags.gateway_message_content_limited
    return Proof("Message Content intent", ok=granted, detail="granted" if granted else _INTENT)


async def _tried(subject: str, call: Callable[[], Awaitable[Proof]]) -> Proof:
    try:
        async with calling():
            return await call()
    except ChannelError as error:
        return Proof(subject, ok=False, detail=str(error))


async def _server(client: discord.Client, number: str, roles: dict[str, str]) -> Proof:
    guild = await client.fetch_guild(int(number), with_counts=False)
    roles |= {f"{ROLE}{role.id}": f"{role.name} in {guild.name}" for role in guild.roles}
    return Proof(f"server {number}", ok=True, detail=redact(guild.name, strict=True).text)


async def _person(client: discord.Client, ref: str) -> Proof:
    if not ref.isdecimal():
        words = "is not a Discord id; turn on Developer Mode, right-click the person, Copy ID"
        return Proof(ref, ok=False, detail=words)
    user = await client.fetch_user(int(ref))
    if user.bot:
        return Proof(ref, ok=False, detail="is a bot, and bots cannot approve; list a person")
    return Proof(ref, ok=True, detail=redact(user.display_name, strict=True).text)


def _role(ref: str, roles: dict[str, str]) -> Proof:
    if ref not in roles:
        words = "is not a role of a server in channels.discord.guilds; copy the role's id again"
        return Proof(ref, ok=False, detail=words)
    return Proof(ref, ok=True, detail=redact(roles[ref], strict=True).text)
