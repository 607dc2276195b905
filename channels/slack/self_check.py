"""Check tokens, scopes and approver references, each refusal with what to do; nothing is sent."""

from collections.abc import Awaitable

import aiohttp

from channels.base import Proof
from channels.slack.settings import GROUP, PERSON, Mode, SlackSettings
from channels.slack.web_api import CALL_TIMEOUT, Calls, web_client
from core.errors import ChannelError
from core.text.render import redact

SCOPES = {
    "chat:write": "nothing can be sent",
    "commands": "slash commands do not work",
    "im:write": "no prompt can be sent to a member",
    "im:history": "text in direct messages is not received",
    "app_mentions:read": "mentions are not received",
    "channels:history": "text in public channels and threads is not received",
    "groups:history": "text in private channels and threads is not received",
    "users:read": "member ids cannot be verified, and typed answers name no person",
    "usergroups:read": "members of user groups are not recognised",
}
"""The scopes that the manifest asks for, and what is lost without each."""

_ADD = "Add it under OAuth & Permissions, install the app again and use the new token."
_UNTOLD = (
    "Slack did not say which scopes the token has (no header X-OAuth-Scopes). Check them under "
    "OAuth & Permissions."
)
_MISSING = "missing, so {}. {}"


async def prove(settings: SlackSettings, people: tuple[str, ...]) -> tuple[Proof, ...]:
    """Check what ``channels.base.Provable.prove`` names, over a separate connection."""
    async with aiohttp.ClientSession(timeout=CALL_TIMEOUT) as session:
        token = settings.bot_token.get_secret_value()
        calls = Calls(web_client(settings.api_base_url, session, token))
        tokens = [await _tried("botToken", _bot(calls)), *await _app(calls, settings)]
        if not tokens[0].ok:
            return tuple(tokens)
        scopes = await _scopes(calls, (*people, *settings.groups))
        listed = [one for one in dict.fromkeys(people) if not one.startswith(PERSON)]
        return (*tokens, *scopes, *[await _tried(one, _found(calls, one)) for one in listed])


async def _tried(subject: str, trial: Awaitable[str]) -> Proof:
    try:
        return Proof(subject, ok=True, detail=await trial)
    except ChannelError as error:
        return Proof(subject, ok=False, detail=str(error))


async def _bot(calls: Calls) -> str:
    us = await calls.who_we_are()
    return f"Slack knows it as @{redact(us.name, strict=True)}"


async def _app(calls: Calls, settings: SlackSettings) -> list[Proof]:
    if settings.mode is not Mode.SOCKET or settings.app_token is None:
        return []
    return [await _tried("appToken", _ticket(calls, settings.app_token.get_secret_value()))]


async def _ticket(calls: Calls, token: str) -> str:
    await calls.ticket(token)
    return "Slack gives it a socket"


async def _scopes(calls: Calls, references: tuple[str, ...]) -> list[Proof]:
    try:
        given = await calls.scopes()
    except ChannelError as error:
        return [Proof("scopes", ok=False, detail=str(error))]
    if given is None:
        return [Proof("scopes", ok=False, detail=_UNTOLD, serious=False)]
    missing = SCOPES.keys() - given
    groups = any(one.startswith(GROUP) for one in references)
    needed = {"chat:write"} | ({"usergroups:read"} if groups else set())
    lost = [
        Proof(f"scope {scope}", False, _MISSING.format(SCOPES[scope], _ADD), scope in needed)
        for scope in SCOPES
        if scope in missing
    ]
    return lost or [Proof("scopes", ok=True, detail=f"all {len(SCOPES)} are granted")]


async def _found(calls: Calls, reference: str) -> str:
    if reference.startswith(GROUP):
        count = len(await calls.members(reference.removeprefix(GROUP)))
        if not count:
            raise ChannelError(
                "This user group has no members now, so nobody can approve through it."
            )
        return f"a user group; members now: {count}"
    member = await calls.member(reference)
    if member.get("deleted") or member.get("is_bot"):
        kind = "a bot" if member.get("is_bot") else "deactivated"
        raise ChannelError(
            f"This account is {kind}, so it cannot approve. Remove it from the list."
        )
    return f"the member {redact(str(member.get('name', '')), strict=True)}"
