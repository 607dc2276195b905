"""Keep tokens, tickets and whole payloads out of the library's log."""

import logging
import re
import traceback

from channels.slack.errors import FAILURES
from core.text.secrets import mask

_TICKET = re.compile(r"(ticket|response_url|trigger_id)([=:'\" ]+)[^\s'\",&)]+")
_LIBRARY = "channels.slack.library"
_LONGEST, _LONGEST_TRACE = 1_000, 10_000


class SecretMask(logging.Filter):
    """Mask secrets in a log record; the library's messages and errors contain URLs with tickets."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Replace the record's message and its traceback with masked text.

        For a response that is not Slack's, the message is enough: it is a warning without a
        traceback.
        """
        record.msg, record.args = _masked(_short(record.getMessage(), _LONGEST)), ()
        if record.exc_info and isinstance(record.exc_info[1], FAILURES):
            record.levelno, record.levelname = logging.WARNING, "WARNING"
            record.exc_info = None
        elif record.exc_info and record.exc_info[1] is not None:
            text = "".join(traceback.format_exception(record.exc_info[1]))
            record.exc_text = _masked(_short(text, _LONGEST_TRACE))
            record.exc_info = None
        return True


def library_logger() -> logging.Logger:
    """Return the logger for slack-bolt and slack-sdk.

    Its level is INFO whatever the root's is: at DEBUG the library prints whole payloads, and it
    formats them even if nobody reads them.
    """
    logger = logging.getLogger(_LIBRARY)
    logger.setLevel(logging.INFO)
    if not any(isinstance(existing, SecretMask) for existing in logger.filters):
        logger.addFilter(SecretMask())
    return logger


def _short(text: str, longest: int) -> str:
    # The library logs whole bodies, even those of strangers.
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text)} characters)"


def _masked(text: str) -> str:
    return _TICKET.sub(r"\1\2[masked]", mask(text))
