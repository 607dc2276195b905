"""Read the answers of a Bot API server, or of whatever answers in its place."""

import json
from typing import Any

from telegram.error import TelegramError
from telegram.request import HTTPXRequest

from channels.base import UNREADABLE

_CONNECTIONS = 256
"""What the library's own builder gives a bot."""
_LONGEST = 100


class BotRequest(HTTPXRequest):
    """The requests of a bot; an answer that is none is an error in words, without a traceback."""

    @staticmethod
    def parse_json_payload(payload: bytes) -> dict[str, Any]:
        """Return an answer.

        Raises:
            TelegramError: it is no object of JSON.
        """
        try:
            answer = json.loads(payload.decode(errors="replace"))
            if not isinstance(answer, dict):
                raise TypeError(type(answer).__name__)
        except UNREADABLE as error:
            words = f"the answer is no object of JSON: {payload[:_LONGEST]!r}"
            raise TelegramError(words) from error
        return answer


def bot_request() -> BotRequest:
    """Return the requests of a bot, as many at once as the library's own."""
    return BotRequest(connection_pool_size=_CONNECTIONS)
