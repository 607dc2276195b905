"""Ask people on Telegram, with python-telegram-bot in long polling."""

import asyncio
import contextlib
import logging
from typing import Any

from telegram import InputFile, LinkPreviewOptions, ReplyParameters, Update
from telegram import Message as SentMessage
from telegram.error import TelegramError
from telegram.ext import Application, ApplicationBuilder, ExtBot, TypeHandler

from channels.base import Health, Inbox, Reply
from channels.cards import NoticeCard, OutcomeCard, PromptCard
from channels.telegram.answers import Answers
from channels.telegram.confirmed import ConfirmedQueue
from channels.telegram.connection import ChatPacing, PollWatch, prepare_library
from channels.telegram.errors import already_final, translate
from channels.telegram.intake import Intake
from channels.telegram.prompts import (
    Message,
    render_notice,
    render_outcome,
    render_prompt,
    render_text,
)
from channels.telegram.settings import TelegramSettings
from channels.telegram.updates import NAME, Identity, place_of
from core.errors import ChannelError
from core.model.identity import Target

_log = logging.getLogger(__name__)
_START_PATIENCE_S = 5.0
_FIRST_RETRY_S = 1.0
_LONGEST_RETRY_S = 30.0
_NOT_CONNECTED_MS = 1_000
_NO_PREVIEW = LinkPreviewOptions(is_disabled=True)
_UPDATES = ("message", "callback_query")

_App = Application[ExtBot[Any], Any, Any, Any, Any, Any]


class TelegramChannel:
    """A Telegram bot as a place where people are asked.

    ``start`` connects in the background: an outage delays prompts, it does not keep the gateway
    from starting. Presses made while no gateway ran come in with the first poll.
    """

    def __init__(self, settings: TelegramSettings) -> None:
        prepare_library()
        self._settings = settings
        self._app: _App | None = None
        self._connecting: asyncio.Task[None] | None = None
        self._problem = "not started"

    @property
    def name(self) -> str:
        """Return ``telegram``."""
        return NAME

    async def start(self, inbox: Inbox) -> None:
        """Connect and begin to poll; wait for the first attempt, a few seconds at most."""
        self._problem = "connecting"
        tried = asyncio.Event()
        self._watch = PollWatch()
        self._queue = ConfirmedQueue()
        self._answers = Answers(self._reply)
        self._app = self._build()
        self._connecting = asyncio.create_task(self._connect(self._app, inbox, tried))
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(tried.wait(), _START_PATIENCE_S)

    async def stop(self) -> None:
        """Stop polling, let the update in hand be committed, close every connection."""
        app, connecting = self._app, self._connecting
        if app is None or connecting is None:
            return
        self._app, self._connecting, self._problem = None, None, "not started"
        connecting.cancel()
        await asyncio.gather(connecting, return_exceptions=True)
        if app.updater is not None and app.updater.running:
            await app.updater.stop()
        if app.running:
            await app.stop()
        await self._answers.finish()
        await app.shutdown()
        await app.bot.shutdown()

    async def check(self) -> Health:
        """Say whether polls and calls get through, or what keeps them from it."""
        if self._app is None or self._problem:
            return Health(ok=False, detail=self._problem)
        if self._watch.problem:
            return Health(ok=False, detail=self._watch.problem)
        try:
            us = await self._app.bot.get_me()
        except TelegramError as error:
            return Health(ok=False, detail=str(translate(error)))
        return Health(ok=True, detail=f"polling as @{us.username}")

    async def post(self, target: Target, card: PromptCard) -> str:
        """Send a prompt; the message with the buttons goes last, and its id is returned."""
        return await self._send_all(target, render_prompt(card))

    async def notify(self, target: Target, card: NoticeCard) -> str:
        """Send a notice and return the id of its last message."""
        return await self._send_all(target, render_notice(card))

    async def update(self, target: Target, message: str, card: OutcomeCard) -> None:
        """Edit a prompt to its final state; the edit takes its buttons away."""
        final = render_outcome(card)
        try:
            await self._connected().bot.edit_message_text(
                final.text,
                chat_id=_chat(target),
                message_id=int(message),
                entities=final.entities,
                link_preview_options=_NO_PREVIEW,
            )
        except TelegramError as error:
            if not already_final(error):
                raise translate(error) from error

    def _build(self) -> _App:
        base = self._settings.api_base_url
        return (
            ApplicationBuilder()
            .token(self._settings.token.get_secret_value())
            .base_url(f"{base}/bot")
            .base_file_url(f"{base}/file/bot")
            .get_updates_request(self._watch)
            .rate_limiter(ChatPacing())
            .update_queue(self._queue)
            .concurrent_updates(False)
            .job_queue(None)
            .build()
        )

    async def _connect(self, app: _App, inbox: Inbox, tried: asyncio.Event) -> None:
        wait = _FIRST_RETRY_S
        while self._problem:
            try:
                await self._begin(app, inbox)
                self._problem = ""
                tried.set()
            except TelegramError as error:
                self._problem = str(translate(error))
                tried.set()
                _log.warning("%s Trying again in %.0f s.", self._problem, wait)
                await asyncio.sleep(wait)
                wait = min(2 * wait, _LONGEST_RETRY_S)

    async def _begin(self, app: _App, inbox: Inbox) -> None:
        await app.initialize()
        if not app.running:
            us = Identity(app.bot.id, app.bot.username)
            intake = Intake(inbox, us, self._queue, self._answers)
            app.add_handler(TypeHandler(Update, lambda update, _: intake.take(update)))
            await app.start()
        if app.updater is not None:
            await app.updater.start_polling(
                timeout=self._settings.poll_timeout,
                allowed_updates=_UPDATES,
                bootstrap_retries=-1,
                drop_pending_updates=False,
                error_callback=lambda error: _log.warning("%s", translate(error)),
            )

    def _connected(self) -> _App:
        if self._app is None or self._problem:
            raise ChannelError(
                f"Telegram is not connected: {self._problem}", retry_after_ms=_NOT_CONNECTED_MS
            )
        return self._app

    async def _send_all(self, target: Target, messages: tuple[Message, ...]) -> str:
        sent = ""
        try:
            for message in messages:
                sent = str((await self._send(target, message)).message_id)
        except TelegramError as error:
            raise translate(error) from error
        return sent

    async def _send(self, target: Target, message: Message, reply_to: int = 0) -> SentMessage:
        bot = self._connected().bot
        thread = int(target.thread) if target.thread else None
        if message.file is not None:
            return await bot.send_document(
                _chat(target),
                InputFile(message.file, message.file_name),
                caption=message.text,
                caption_entities=message.entities,
                message_thread_id=thread,
            )
        reply = ReplyParameters(reply_to, allow_sending_without_reply=True) if reply_to else None
        return await bot.send_message(
            _chat(target),
            message.text,
            entities=message.entities,
            reply_markup=message.markup,
            message_thread_id=thread,
            reply_parameters=reply,
            link_preview_options=_NO_PREVIEW,
        )

    async def _reply(self, update: Update, reply: Reply) -> None:
        message = update.effective_message
        if message is None:
            return
        place = place_of(message)
        for part in render_text(reply.text):
            await self._send(place, part, reply_to=message.message_id)


def _chat(target: Target) -> int | str:
    return int(target.to) if target.to.lstrip("-").isdecimal() else target.to
