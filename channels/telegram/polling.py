"""Send the polls, and record the outcome of the last one."""

import asyncio
import json
import logging
from http import HTTPStatus
from typing import Any

from telegram import Update
from telegram.error import NetworkError, TelegramError

from channels.base import UNREADABLE, out_of_reach
from channels.telegram.errors import NOT_FOUND, REFUSED, conflict, translate
from channels.telegram.requests import BotRequest

_log = logging.getLogger(__name__)
_FOR_GOOD = {HTTPStatus.UNAUTHORIZED: REFUSED, HTTPStatus.NOT_FOUND: NOT_FOUND}
"""Errors on which the library would stop polling."""


class PollWatch(BotRequest):
    """The requests of the poller, and the outcome of the last one."""

    problem: str = ""

    async def do_request(self, *args: Any, **kwargs: Any) -> tuple[int, bytes]:  # noqa: ANN401 - the SDK's signature
        """Send one poll and record its outcome.

        The library forgets the task of a poll, with its error, if it is stopped as that ends.

        Raises:
            NetworkError: it failed, or the token was refused. The library would stop polling for
            good, and a wrong response of a proxy would then lose every later press.
        """
        task = asyncio.current_task()
        if task is not None:
            task.add_done_callback(_retrieve)
        try:
            code, body = await super().do_request(*args, **kwargs)
            if code == HTTPStatus.OK:
                body = _readable(self.parse_json_payload(body))
        except TelegramError as error:
            self.problem = str(out_of_reach("Telegram", error.message))
            raise NetworkError(error.message) from error
        self.problem = _problem(code, body)
        for_good = _FOR_GOOD.get(HTTPStatus(code)) if code in _FOR_GOOD else None
        if for_good is not None:
            raise NetworkError(for_good)
        return code, body


def _retrieve(task: asyncio.Task[object]) -> None:
    """Keep asyncio from logging an error that nobody asked for."""
    if not task.cancelled():
        task.exception()


def _readable(answer: dict[str, Any]) -> bytes:
    """Return a response in which the library can read each update.

    One that it cannot read would come again and again, ahead of all later ones: it is reduced to
    its number, and so confirmed.

    Raises:
        TelegramError: the response has no list of updates, or no ``true`` for a call without one.
    """
    result = answer.get("result")
    if result is True:
        return json.dumps(answer).encode()
    if not isinstance(result, list):
        raise TelegramError("the answer to a poll has no updates")
    updates = [_bare(one) for one in result]
    return json.dumps(answer | {"result": [one for one in updates if one]}).encode()


def _bare(update: Any) -> dict[str, Any]:  # noqa: ANN401 - whatever came
    try:
        Update.de_json(update, None)
    except UNREADABLE as error:
        _log.warning("What a person did could not be read, so it is lost: %s", translate(error))
        number = update.get("update_id") if isinstance(update, dict) else None
        return {} if number is None else {"update_id": number}
    read: dict[str, Any] = update
    return read


def _problem(code: int, body: bytes) -> str:
    if code == HTTPStatus.OK:
        return ""
    if code == HTTPStatus.CONFLICT:
        return conflict(body.decode(errors="replace"))
    if code in _FOR_GOOD:
        return _FOR_GOOD[HTTPStatus(code)]
    return f"Telegram answers polls with HTTP {code}."
