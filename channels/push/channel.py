"""Provide the channel ``push``: notifications in browsers subscribed on the control page.

What is pushed is encrypted for the browser; a push service learns that something was sent, when, to
which browser and how large it is. A later notification about the same question replaces an earlier
one, at the service (Topic) and on the screen (tag).
"""

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Final, Protocol, cast

import aiohttp
from pywebpush import WebPushException, webpush_async

from channels import pacing
from channels.base import Health, Inbox
from channels.cards.card import NoticeCard, OutcomeCard, PromptCard
from channels.push import payload
from channels.push.payload import Note
from channels.push.services import is_served, origin_of
from core.errors import ChannelError
from core.model.identity import PUSH_CHANNEL, Target
from core.settings.http import HttpPushSection

_PATIENCE_S: Final = 10.0
_LARGEST_ANSWER: Final = 65_536
_READING_S: Final = 1.0
"""Limits of a response's body, in bytes and seconds: it is read only to reuse the connection."""
_OUTCOME_TTL_S: Final = 24 * 3_600
_NOTICE_TTL_S: Final = 600
_GONE: Final = frozenset({404, 410})
_TRANSIENT: Final = frozenset({408, 425, 429, *range(500, 600)})
_SIGNATURE_S: Final = 12 * 3_600


@dataclass(frozen=True, slots=True)
class Browser:
    """Where a browser receives push messages, and the keys that only it can decrypt them with."""

    endpoint: str = field(repr=False)
    p256dh: str = field(repr=False)
    auth: str = field(repr=False)


class Browsers(Protocol):
    """The store of browsers; each place is looked up again for each message."""

    async def browser(self, place: str) -> Browser | None:
        """Return a browser, ``None`` if nothing may be pushed to it any more."""

    async def answer(self, place: str, card: PromptCard) -> str:
        """Return the token that this notification may answer with, empty for none."""

    async def forget(self, place: str) -> None:
        """Forget a browser that its push service no longer knows."""

    async def key(self) -> str:
        """Return the private key that signs what is pushed."""


class _Refused(aiohttp.ClientError):
    """A push service answered with a redirect, which is not followed."""


class _Answer(aiohttp.ClientResponse):
    """A response of a push service: only its status matters, not its body."""

    async def text(self, encoding: str | None = None, errors: str = "strict") -> str:
        """Return nothing; read a short body off the connection, and close it on a longer one."""
        del encoding, errors
        with suppress(aiohttp.ClientError, OSError, TimeoutError):
            async with asyncio.timeout(_READING_S):
                await self._drained()
        self.close()
        return ""

    async def _drained(self) -> None:
        left = _LARGEST_ANSWER
        while left > 0 and not self.content.at_eof():
            left -= len(await self.content.read(left))


@dataclass(slots=True)
class PushChannel:
    """Push to browsers; ``page_url`` identifies the sender if the settings name no contact."""

    browsers: Browsers
    settings: HttpPushSection
    page_url: str = ""
    name: str = PUSH_CHANNEL
    _session: aiohttp.ClientSession | None = None
    _trouble: str = ""

    async def start(self, inbox: Inbox) -> None:
        """Prepare to push; answers come through the control page."""
        del inbox
        patience = aiohttp.ClientTimeout(total=_PATIENCE_S)
        self._session = aiohttp.ClientSession(
            timeout=patience,
            trust_env=False,
            trace_configs=[_bounds()],
            auto_decompress=False,
            response_class=_Answer,
        )

    async def stop(self) -> None:
        """Stop pushing."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def check(self) -> Health:
        """Return whether the last message pushed was accepted."""
        return Health(not self._trouble, self._trouble or "pushes to browsers that asked for it")

    def rendering(self, target: Target, cards: tuple[PromptCard, ...]) -> list[dict[str, object]]:
        """Return what the notifications show; the token for answers is not part of it."""
        return [payload.prompt(target.to, card).as_json() for card in cards]

    async def post(self, target: Target, card: PromptCard) -> str:
        """Push a question and return its tag, which is the same if repeated."""
        note = payload.prompt(target.to, card)
        answer = ""
        if payload.is_answerable(card):
            answer = await self.browsers.answer(target.to, card)
        left_s = max(0, card.expires_at_ms - int(time.time() * 1000)) // 1000
        await self._push(target, note, left_s, answer, urgent=True)
        return note.tag

    async def update(self, target: Target, message: str, card: OutcomeCard) -> None:
        """Push how a question ended, in place of the question."""
        del message  # it is computed again from what it is about
        await self._push(target, payload.outcome(target.to, card), _OUTCOME_TTL_S)

    async def notify(self, target: Target, card: NoticeCard) -> str:
        """Push a notice and return its tag."""
        note = payload.notice(payload.tag_of(target.to, f"notice {time.time_ns()}"), card)
        await self._push(target, note, _NOTICE_TTL_S)
        return note.tag

    async def remind(self, target: Target, message: str, card: NoticeCard) -> str:
        """Push a reminder next to the question, which keeps its buttons; return its tag."""
        note = payload.notice(payload.tag_of(target.to, f"reminder of {message}"), card)
        await self._push(target, note, _NOTICE_TTL_S, urgent=True)
        return note.tag

    async def end_reminder(self, target: Target, message: str, card: NoticeCard) -> None:
        """Push how the question ended, in the reminder's place."""
        await self._push(target, payload.notice(message, card), _OUTCOME_TTL_S)

    async def _push(
        self, target: Target, note: Note, ttl_s: int, answer: str = "", *, urgent: bool = False
    ) -> None:
        browser = await self.browsers.browser(target.to)
        if browser is None:
            raise ChannelError("This browser is not signed in any more.", permanent=True)
        if not is_served(browser.endpoint, self.settings.services):
            raise ChannelError("Its push service is not one of http.push.services.", permanent=True)
        data = payload.encoded(note, answer)
        if len(data) > payload.LARGEST:
            raise ChannelError("The notification is too large.", permanent=True)
        headers: dict[str, str | int | float] = {
            "Topic": note.tag,
            "Urgency": "high" if urgent else "normal",
            "Content-Type": "application/octet-stream",
        }
        status, retry_after = await self._exchange(browser, data, ttl_s, headers)
        await self._judge(target, status, retry_after)

    async def _exchange(
        self, browser: Browser, data: bytes, ttl_s: int, headers: dict[str, str | int | float]
    ) -> tuple[int, str]:
        """Send a message; return the service's status and when it wants a retry."""
        if self._session is None:
            raise ChannelError("The push channel is not started.")
        claims: dict[str, str | int] = {
            "aud": origin_of(browser.endpoint),
            "exp": int(time.time()) + _SIGNATURE_S,
            "sub": self.contact,
        }
        keys: dict[str, str | bytes] = {"p256dh": browser.p256dh, "auth": browser.auth}
        patience = aiohttp.ClientTimeout(total=_PATIENCE_S)
        try:
            answer = await webpush_async(
                {"endpoint": browser.endpoint, "keys": keys},
                data.decode(),
                await self.browsers.key(),
                claims,
                ttl=ttl_s,
                timeout=cast("float", patience),  # its post accepts what aiohttp accepts
                headers=headers,
                aiohttp_session=self._session,
            )
        except WebPushException as error:
            return error.status_code or 0, error.retry_after or ""
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            host = origin_of(browser.endpoint)
            self._trouble = f"{host} cannot be reached ({type(error).__name__})"
            raise ChannelError(f"The push service {self._trouble}.") from error
        return cast("aiohttp.ClientResponse", answer).status, ""

    async def _judge(self, target: Target, status: int, retry_after: str) -> None:
        """Evaluate the response of a push service.

        Raises:
            ChannelError: it did not accept the message.
        """
        if status in range(200, 300):
            self._trouble = ""
            return
        if status in _GONE:
            await self.browsers.forget(target.to)
            raise ChannelError("The browser has ended its subscription.", permanent=True)
        self._trouble = f"a push service answered {status}"
        raise ChannelError(
            f"A push service answered {status}.",
            retry_after_ms=pacing.retry_after_ms(retry_after),
            permanent=status not in _TRANSIENT,
        )

    @property
    def contact(self) -> str:
        """Return the contact address for push services, which some of them require."""
        if self.settings.contact is not None:
            return self.settings.contact
        return self.page_url if self.page_url.startswith("https:") else "mailto:root@localhost"


def _bounds() -> aiohttp.TraceConfig:
    """Return what stops redirects of a service, because they may lead to any address."""
    traced = aiohttp.TraceConfig(SimpleNamespace)

    async def redirected(
        _session: aiohttp.ClientSession,
        _context: SimpleNamespace,
        _about: aiohttp.TraceRequestRedirectParams,
    ) -> None:
        raise _Refused

    traced.on_request_redirect.append(redirected)
    return traced
