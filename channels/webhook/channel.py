"""Provide the channel ``webhook``: cards go out as signed JSON, and answers come in likewise."""

import hashlib
import time
from dataclasses import dataclass

import aiohttp

from channels import pacing
from channels.base import Health, Inbox, Proof
from channels.cards.card import NoticeCard, OutcomeCard, PromptCard
from channels.webhook import messages
from channels.webhook.inbound import PATH, Receiver
from channels.webhook.messages import NAME, body_of
from channels.webhook.settings import WebhookSettings
from channels.webhook.signing import Direction, sign
from core.errors import ChannelError
from core.model.identity import Target
from core.text.render import redact

_PATIENCE_S = 10.0
_ACCEPTED = range(200, 300)
_TRANSIENT = {408, 425, 429, *range(500, 600)}
_GONE = {404, 410}


@dataclass(slots=True)
class WebhookChannel:
    """A service at ``settings.url`` that shows prompts and sends answers back."""

    settings: WebhookSettings
    name: str = NAME
    _session: aiohttp.ClientSession | None = None
    _receiver: Receiver | None = None
    _trouble: str = "not started"

    async def start(self, inbox: Inbox) -> None:
        """Start to listen.

        Raises:
            ChannelError: the address of ``listen`` cannot be used.
        """
        patience = aiohttp.ClientTimeout(total=_PATIENCE_S)
        receiver = Receiver(self.settings.secret.get_secret_value(), inbox)
        try:
            await receiver.open(*self.settings.address)
        except OSError as error:
            await receiver.close()
            where = f"channels.webhook.listen {self.settings.listen} cannot be used"
            raise ChannelError(f"{where}: {error.strerror}", permanent=True) from error
        self._session = aiohttp.ClientSession(timeout=patience, trust_env=False)
        self._receiver, self._trouble = receiver, ""

    async def stop(self) -> None:
        """Stop listening; a service that retries reaches us after the next ``start``."""
        receiver, self._receiver = self._receiver, None
        session, self._session = self._session, None
        self._trouble = "not started"
        if receiver is not None:
            await receiver.close()
        if session is not None:
            await session.close()

    async def check(self) -> Health:
        """Return whether the service accepted the last message sent to it."""
        if self._trouble:
            return Health(False, self._trouble)
        return Health(
            True, f"posts to {self.settings.url}, listens on {self.settings.listen}{PATH}"
        )

    async def post(self, target: Target, card: PromptCard) -> str:
        """Post a prompt and return its message id, which is the same if repeated."""
        message = _message_id(target, card.id)
        await self._send(target, message, messages.prompt(card))
        return message

    async def update(self, target: Target, message: str, card: OutcomeCard) -> None:
        """Post the final state of a prompt; a service that has forgotten it is no error."""
        await self._send(target, message, messages.outcome(card), gone_is_fine=True)

    async def notify(self, target: Target, card: NoticeCard) -> str:
        """Post a notice and return its message id."""
        message = _message_id(target, f"{time.time_ns()}")
        await self._send(target, message, messages.notice(card))
        return message

    async def prove(self, people: tuple[str, ...]) -> tuple[Proof, ...]:
        """Report the state of the set-up; the service has no accounts that could be looked up."""
        state = await self.check()
        known = f"{len(people)} listed; accounts are your service's own and cannot be looked up"
        return Proof("webhook", state.ok, state.detail), Proof("approvers", bool(people), known)

    async def _send(
        self,
        target: Target,
        message: str,
        content: dict[str, object],
        *,
        gone_is_fine: bool = False,
    ) -> None:
        body = body_of(target, message, content)
        status, retry_after_ms = await self._exchange(body)
        if status in _ACCEPTED or (gone_is_fine and status in _GONE):
            self._trouble = ""
            return
        self._trouble = f"{self.settings.url} answered {status}"
        raise ChannelError(
            f"The webhook {self._trouble}. Check your service's log.",
            retry_after_ms=retry_after_ms,
            permanent=status not in _TRANSIENT,
        )

    async def _exchange(self, body: bytes) -> tuple[int, int | None]:
        if self._session is None:
            raise ChannelError("The webhook channel is not started.")
        secret = self.settings.secret.get_secret_value()
        headers = sign(secret, Direction.OUT, body, int(time.time()))
        headers["Content-Type"] = "application/json"
        try:
            # No redirects: the signed body is meant only for this URL.
            async with self._session.post(
                self.settings.url, data=body, headers=headers, allow_redirects=False
            ) as answer:
                return answer.status, pacing.retry_after_ms(answer.headers.get("Retry-After", ""))
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            said = redact(str(error) or type(error).__name__).text
            self._trouble = f"{self.settings.url} cannot be reached: {said}"
            raise ChannelError(f"The webhook {self._trouble}") from error


def _message_id(target: Target, about: str) -> str:
    """Derive a message's id from its subject, so that a repeated post has the same id."""
    words = f"{target.to}\x1f{target.account}\x1f{target.thread}\x1f{about}"
    return hashlib.sha256(words.encode()).hexdigest()[:32]
