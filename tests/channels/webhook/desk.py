"""Set up Ana at a service of her own behind the webhook."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from channels.base import Channel
from channels.webhook.channel import WebhookChannel
from channels.webhook.settings import WebhookSettings
from core.model.approval import ApprovalReply
from core.model.identity import Target
from tests.emulators.webhook import SECRET, WebhookService
from tests.support.ports import free_port

_LABELS = {
    ApprovalReply.ALLOW_ONCE: "Allow once",
    ApprovalReply.ALLOW_ALWAYS: "Always allow…",
    ApprovalReply.DENY: "Deny",
}


def channel_for(service: WebhookService, secret: str = SECRET) -> WebhookChannel:
    """Return a channel and tell the service where its answers go."""
    listen = f"127.0.0.1:{free_port()}"
    service.answers_to = f"http://{listen}/sayso/answer"
    settings = {"url": service.url, "secret": secret, "listen": listen, "approvers": ["ana"]}
    return WebhookChannel(WebhookSettings.model_validate(settings))


@dataclass(slots=True)
class WebhookDesk:
    """Ana at her service, which retries as services do while we are away."""

    service: WebhookService
    channel: Channel
    target: Target = field(default_factory=lambda: Target("webhook", "desk"))
    account: str = "ana"
    retries: set[asyncio.Task[None]] = field(default_factory=set)

    async def press(self, message: str, reply: ApprovalReply) -> None:
        """Press a button of a prompt."""
        buttons = self.service.messages[message]["buttons"]
        press = next(one["press"] for one in buttons if one["label"] == _LABELS[reply])
        self._send(message=message, press=press)

    async def press_in(self, message: str, code: str, reply: ApprovalReply) -> None:
        """Press a button; each message here shows one prompt."""
        del code
        await self.press(message, reply)

    async def slash(self, text: str) -> None:
        """Type a command."""
        self._send(text=text)

    async def reply(self, message: str, text: str) -> None:
        """Reply to a message."""
        self._send(message=message, text=text)

    async def press_choice(self, label: str) -> None:
        """Press a button under the newest reply that has it."""
        offered: list[dict[str, Any]] = [
            choice for told in self.service.told for choice in told.get("choices", ())
        ]
        press = next(one["press"] for one in reversed(offered) if one["label"] == label)
        self._send(press=press)

    async def type(self, text: str) -> None:
        """Type a message."""
        self._send(text=text)

    def _send(self, **said: object) -> None:
        task = asyncio.create_task(self._deliver(said))
        self.retries.add(task)
        task.add_done_callback(self.retries.discard)

    async def _deliver(self, said: dict[str, object]) -> None:
        while True:
            try:
                status, _ = await self.service.answer(**said)
            except aiohttp.ClientError:
                status = 503
            if status < 500:
                return
            await asyncio.sleep(0.05)

    async def sees(self, words: str) -> None:
        """Wait for a reply."""
        await self.service.until(
            lambda: any(words in str(told.get("text", "")) for told in self.service.told)
        )

    async def shows(self, message: str, words: str) -> None:
        """Look at a message."""
        await self.service.until(lambda: words in str(self.service.messages.get(message)))

    def can_press(self, message: str) -> bool:
        """Return whether buttons are left."""
        return bool(self.service.messages[message].get("buttons"))
