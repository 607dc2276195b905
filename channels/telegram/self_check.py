"""Check a bot's set-up by asking Telegram; nothing is sent to people."""

import asyncio
from typing import Any

from telegram import User
from telegram.constants import ChatType
from telegram.error import BadRequest, Forbidden
from telegram.ext import ApplicationBuilder, ExtBot

from channels.base import Proof
from channels.telegram.errors import FAILURES, translate
from channels.telegram.requests import BotRequest
from channels.telegram.settings import Mode, TelegramSettings
from channels.telegram.webhook import delivery_problem
from core.text.render import redact


async def prove(settings: TelegramSettings, people: tuple[str, ...]) -> tuple[Proof, ...]:
    """Check the token, how updates come in, and each of these user ids.

    A ``person:NAME`` is resolved by the directory, so there is nothing to check here.
    """
    bot = _bot(settings)
    try:
        async with bot:
            us = await bot.get_me()
            accounts = [reference for reference in people if reference.isdecimal()]
            found = await asyncio.gather(
                _updates(bot, settings), *(_person(bot, account) for account in accounts)
            )
            return (Proof("token", ok=True, detail=f"is {us.name}'s"), _groups(us), *found)
    except FAILURES as error:
        return (Proof("token", ok=False, detail=str(translate(error))),)


def _bot(settings: TelegramSettings) -> ExtBot[Any]:
    base = f"{settings.api_base_url}/bot"
    token = settings.token.get_secret_value()
    builder = ApplicationBuilder().token(token).base_url(base).request(BotRequest())
    return builder.updater(None).build().bot


def _groups(us: User) -> Proof:
    if not us.can_join_groups:
        words = "the bot may not join groups; @BotFather (/setjoingroups) changes that"
    elif us.can_read_all_group_messages:
        words = "the bot reads all messages of its groups"
    else:
        words = "in groups the bot reads replies to it and commands with its name (privacy mode)"
    return Proof("groups", ok=True, detail=words)


async def _updates(bot: ExtBot[Any], settings: TelegramSettings) -> Proof:
    try:
        info = await bot.get_webhook_info()
    except FAILURES as error:
        return Proof("updates", ok=False, detail=str(translate(error)))
    ours = settings.webhook.url if settings.webhook and settings.mode is Mode.WEBHOOK else ""
    if info.url != ours:
        return Proof("updates", ok=False, detail=_elsewhere(ours))
    if problem := delivery_problem(info, 0.0):
        return Proof("updates", ok=False, detail=problem)
    waiting = f"{info.pending_update_count} waiting at Telegram"
    return Proof("updates", ok=True, detail=f"come in by {settings.mode}; {waiting}")


def _elsewhere(ours: str) -> str:
    if ours:
        return (
            "go elsewhere: webhook.url is not registered at Telegram; `sayso serve` registers it "
            "at startup"
        )
    return "go to a webhook; `sayso serve` removes it at startup, unless another gateway set it"


async def _person(bot: ExtBot[Any], account: str) -> Proof:
    subject = f"approver {account}"
    try:
        chat = await bot.get_chat(int(account))
    except (BadRequest, Forbidden):
        words = (
            "is unknown to the bot: let that person press Start in a chat with it, "
            "or correct the id"
        )
        return Proof(subject, ok=False, detail=words)
    except FAILURES as error:
        return Proof(subject, ok=False, detail=str(translate(error)))
    if chat.type != ChatType.PRIVATE:
        return Proof(subject, ok=False, detail=f"is a {chat.type}, not a person; list user ids")
    return Proof(subject, ok=True, detail=f"is {redact(chat.effective_name or 'unnamed')}")
