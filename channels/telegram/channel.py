"""Ask people on Telegram, with python-telegram-bot, by long polling or behind a webhook."""

import asyncio
import contextlib
import logging

from telegram import BotCommand, Update
from telegram.ext import TypeHandler

from channels.base import Health, Inbox, Proof, failure_of
from channels.cards.card import NoticeCard, OutcomeCard, PromptCard
from channels.commands import SLASH_COMMANDS
from channels.telegram.errors import FAILURES, translate
from channels.telegram.inbound import Receiver
from channels.telegram.inbound_events import NAME, Identity
from channels.telegram.outbound import Sender
from channels.telegram.polling import PollWatch
from channels.telegram.render import prompt_groups
from channels.telegram.render.messages import (
    body,
    payloads,
    pieces,
    render_notice,
    render_outcome,
    render_prompt,
)
from channels.telegram.replies import Replies
from channels.telegram.self_check import prove
from channels.telegram.settings import Mode, TelegramSettings
from channels.telegram.transport import (
    App,
    PollingTransport,
    Transport,
    polling_app,
    prepare_library,
    webhook_app,
)
from channels.telegram.update_ack import Handled
from channels.telegram.webhook import WebhookTransport
from core.errors import ChannelError
from core.model.identity import Target
from core.text.render import Redacted

_log = logging.getLogger(__name__)
_START_PATIENCE_S = 5.0
_FIRST_RETRY_S = 1.0
_LONGEST_RETRY_S = 30.0
_NOT_CONNECTED_MS = 1_000
_LONGEST_NAME = "x" * 32


class TelegramChannel:
    """A Telegram bot as a place where people are asked.

    ``start`` connects in the background: an outage delays prompts but does not keep the gateway
    from starting. Presses made while no gateway was running come in once it listens again.
    """

    def __init__(self, settings: TelegramSettings) -> None:
        prepare_library()
        self._settings = settings
        self._app: App | None = None
        self._connecting: asyncio.Task[None] | None = None
        self._problem = "not started"

    @property
    def name(self) -> str:
        """Return ``telegram``."""
        return NAME

    async def start(self, inbox: Inbox) -> None:
        """Connect and start to listen; wait for the first attempt, a few seconds at most."""
        self._problem = "connecting"
        tried = asyncio.Event()
        self._handled = Handled()
        self._app, self._transport = self._make_transport()
        self._sender = Sender(self._app.bot)
        self._replies = Replies(self._sender)
        self._connecting = asyncio.create_task(self._connect(self._app, inbox, tried))
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(tried.wait(), _START_PATIENCE_S)

    async def stop(self) -> None:
        """Stop listening, let the update in progress be committed, close every connection."""
        app, connecting = self._app, self._connecting
        if app is None or connecting is None:
            return
        self._app, self._connecting, self._problem = None, None, "not started"
        connecting.cancel()
        await asyncio.gather(connecting, return_exceptions=True)
        await self._transport.close()
        if app.running:
            await app.stop()
        await self._replies.background.finish()
        await app.shutdown()
        await app.bot.shutdown()

    async def check(self) -> Health:
        """Return whether updates and calls get through, or why they do not."""
        if self._app is None or self._problem:
            return Health(ok=False, detail=self._problem)
        try:
            problem = await self._transport.problem()
            us = None if problem else await self._app.bot.get_me()
        except FAILURES as error:
            return Health(ok=False, detail=str(translate(error)))
        if us is None:
            return Health(ok=False, detail=problem)
        return Health(ok=True, detail=f"listening as {us.name} (mode {self._settings.mode})")

    async def post(self, target: Target, card: PromptCard) -> str:
        """Send a prompt; the message with the buttons comes last, and its id is returned."""
        sender = self._connected()
        return await sender.send(target, render_prompt(card, self._name_in(target)))

    async def notify(self, target: Target, card: NoticeCard) -> str:
        """Send a notice and return the id of its last message."""
        return await self._connected().send(target, render_notice(card))

    async def remind(self, target: Target, message: str, card: NoticeCard) -> str:
        """Send a reminder as the reply to a prompt and return its id."""
        return await self._connected().send(target, render_notice(card), reply_to=int(message))

    async def end_reminder(self, target: Target, message: str, card: NoticeCard) -> None:
        """Edit a reminder to show how its question ended."""
        await self._connected().edit(target, message, render_notice(card)[0])

    async def update(self, target: Target, message: str, card: OutcomeCard) -> None:
        """Edit a prompt to its final state; the edit removes its buttons."""
        await self._connected().edit(target, message, render_outcome(card))

    def fits(self, cards: tuple[PromptCard, ...]) -> bool:
        """Return whether one message can show all of these in full, with every button."""
        return prompt_groups.fits(cards, _LONGEST_NAME)

    async def post_group(self, target: Target, cards: tuple[PromptCard, ...]) -> str:
        """Send several prompts as one message and return its id."""
        sender = self._connected()
        return await sender.send(
            target, (prompt_groups.render_group(cards, self._name_in(target)),)
        )

    def rendering(self, target: Target, cards: tuple[PromptCard, ...]) -> list[dict[str, object]]:
        """Return the bodies of the calls that post one prompt, or several as one message."""
        name = self._name_in(target)
        if len(cards) == 1:
            return payloads(cards[0], target, name)
        return [body(prompt_groups.render_group(cards, name), target)]

    async def update_group(
        self, target: Target, message: str, cards: tuple[PromptCard | OutcomeCard, ...]
    ) -> None:
        """Edit the message to the current state; only waiting prompts keep their buttons."""
        sender = self._connected()
        final = prompt_groups.render_group(cards, self._name_in(target))
        await sender.edit(target, message, final)

    async def open_thread(self, target: Target, title: Redacted, message: str = "") -> Target:
        """Open a topic in a forum group and return its place; messages have no threads here."""
        del message
        return await self._connected().open_topic(target, title)

    def pieces(self, text: Redacted, room: int) -> tuple[Redacted, ...]:
        """Cut a text into pieces that each fit one message, as Telegram counts."""
        return pieces(text, room)

    async def prove(self, people: tuple[str, ...]) -> tuple[Proof, ...]:
        """Check the token, how updates come in, and each user id; send nothing."""
        return await prove(self._settings, people)

    def pair_link(self, code: str) -> str:
        """Return a deep link; its Start button sends ``/start CODE`` (Bot API, "Deep linking")."""
        if self._app is None or self._problem:
            return ""
        return f"https://t.me/{self._app.bot.username}?start={code}"

    def _make_transport(self) -> tuple[App, Transport]:
        settings = self._settings
        if settings.webhook is not None and settings.mode is Mode.WEBHOOK:
            app = webhook_app(settings)
            return app, WebhookTransport(app, settings.webhook, self._handled)
        watch = PollWatch()
        app = polling_app(settings, watch, self._handled)
        return app, PollingTransport(app, watch, settings.poll_timeout)

    async def _connect(self, app: App, inbox: Inbox, tried: asyncio.Event) -> None:
        wait = _FIRST_RETRY_S
        while self._problem:
            try:
                await self._begin(app, inbox)
                self._problem = ""
                tried.set()
            except Exception as error:  # noqa: BLE001 - no error may end the channel in silence
                self._problem = str(failure_of(error, "The Telegram bot", FAILURES, translate))
                tried.set()
                _log.warning("%s Trying again in %.0f s.", self._problem, wait)
                await asyncio.sleep(wait)
                wait = min(2 * wait, _LONGEST_RETRY_S)
        await _register_commands(app)

    async def _begin(self, app: App, inbox: Inbox) -> None:
        await app.initialize()
        if not app.running:
            us = Identity(app.bot.id, app.bot.username or "")
            receiver = Receiver(inbox, us, self._handled, self._replies)
            app.add_handler(TypeHandler(Update, lambda update, _: receiver.take(update)))
            await app.start()
        await self._transport.open()

    def _connected(self) -> Sender:
        if self._app is None or self._problem:
            raise ChannelError(
                f"Telegram is not connected: {self._problem}", retry_after_ms=_NOT_CONNECTED_MS
            )
        return self._sender

    def _name_in(self, target: Target) -> str:
        """Return the bot's name if typed commands need it, which is in groups."""
        if self._app is None or target.to.isdecimal():
            return ""
        return str(self._app.bot.username or "")


async def _register_commands(app: App) -> None:
    """Show the commands in the clients' menu; they also work without it."""
    commands = [BotCommand(command.name, command.description) for command in SLASH_COMMANDS]
    try:
        await app.bot.set_my_commands(commands)
    except FAILURES as error:
        _log.warning("Cannot set the command menu: %s", translate(error))
