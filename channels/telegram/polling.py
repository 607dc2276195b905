"""Send the polls, and note what became of the last one."""

from http import HTTPStatus
from typing import Any

from telegram.error import NetworkError
from telegram.request import HTTPXRequest

from channels.telegram.errors import REFUSED, conflict
from core.text.secrets import mask


class PollWatch(HTTPXRequest):
    """The requests of the poller, and what became of the last one."""

    problem: str = ""

    async def do_request(self, *args: Any, **kwargs: Any) -> tuple[int, bytes]:  # noqa: ANN401 - the SDK's signature
        """Send one poll and note its outcome.

        Raises:
            NetworkError: the token was refused. The library would stop polling for good, and a
                wrong answer of a proxy would then cost every later press.
        """
        try:
            code, body = await super().do_request(*args, **kwargs)
        except NetworkError as error:
            self.problem = f"Telegram cannot be reached: {mask(error.message)}"
            raise
        self.problem = _problem(code, body)
        if code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.NOT_FOUND):
            raise NetworkError(REFUSED)
        return code, body


def _problem(code: int, body: bytes) -> str:
    if code == HTTPStatus.OK:
        return ""
    if code == HTTPStatus.CONFLICT:
        return conflict(body.decode(errors="replace"))
    if code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.NOT_FOUND):
        return REFUSED
    return f"Telegram answers polls with HTTP {code}."
