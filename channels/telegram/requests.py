"""Read the responses of a Bot API server, or of whatever answers in its place."""

import json
import ssl
from functools import cache
from typing import Any

import httpx
from telegram.error import TelegramError
from telegram.request import HTTPXRequest

from channels.base import UNREADABLE

_CONNECTIONS = 256
"""The settings that the library's own builder gives a bot."""
_LONGEST = 100


class BotRequest(HTTPXRequest):
    """The requests of a bot; an invalid response is a plain error message, without a traceback."""

    def __init__(self) -> None:
        trusted = {"verify": _trusted_authorities()}
        super().__init__(connection_pool_size=_CONNECTIONS, httpx_kwargs=trusted)

    @staticmethod
    def parse_json_payload(payload: bytes) -> dict[str, Any]:
        """Return a response.

        Raises:
            TelegramError: it is not a JSON object.
        """
        try:
            answer = json.loads(payload.decode(errors="replace"))
            if not isinstance(answer, dict):
                raise TypeError(type(answer).__name__)
        except UNREADABLE as error:
            words = f"the answer is not a JSON object: {payload[:_LONGEST]!r}"
            raise TelegramError(words) from error
        return answer


@cache
def _trusted_authorities() -> ssl.SSLContext:
    """Return what HTTPS trusts; reading it again for each of a bot's clients takes 40 ms."""
    return httpx.create_ssl_context()
