"""Keep tokens, tickets and payloads out of the library's log."""

import logging
import re
import traceback

from core.text.secrets import mask

_TICKET = re.compile(r"(ticket|response_url|trigger_id)([=:'\" ]+)[^\s'\",&)]+")
_LIBRARY = "channels.slack.library"


class SecretMask(logging.Filter):
    """Mask secrets in a log record; the library's words and errors hold URLs with tickets."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Replace the record's words, and its traceback by masked text."""
        record.msg, record.args = _masked(record.getMessage()), ()
        if record.exc_info and record.exc_info[1] is not None:
            record.exc_text = _masked("".join(traceback.format_exception(record.exc_info[1])))
            record.exc_info = None
        return True


def library_logger() -> logging.Logger:
    """Return the logger for slack-bolt and slack-sdk.

    Its level is INFO whatever the root's is: at DEBUG the library prints whole payloads, and it
    formats them even where nobody reads them.
    """
    logger = logging.getLogger(_LIBRARY)
    logger.setLevel(logging.INFO)
    if not any(isinstance(existing, SecretMask) for existing in logger.filters):
        logger.addFilter(SecretMask())
    return logger


def _masked(text: str) -> str:
    return _TICKET.sub(r"\1\2[masked]", mask(text))
