"""Keep the token out of the library's log."""

import logging
import os
import traceback

from core.text.secrets import mask

_LOGGERS = ("telegram.Bot", "telegram.ext.ExtBot", "telegram.ext.Application")
_LOGGERS_OF_POLLS = ("telegram.ext.Updater", "httpx")


class TokenMask(logging.Filter):
    """Mask secrets in a library's log records; its URLs and errors hold the token."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Replace the record's words, and its traceback by masked text."""
        record.msg, record.args = mask(record.getMessage()), ()
        if record.exc_info and record.exc_info[1] is not None:
            record.exc_text = mask("".join(traceback.format_exception(record.exc_info[1])))
            record.exc_info = None
        return True


def prepare_library() -> None:
    """Set what the library has no parameter for: log masks, and its coming type of durations."""
    # Without this opt-in it warns whenever Telegram asks to wait (python-telegram-bot 22.2).
    os.environ.setdefault("PTB_TIMEDELTA", "true")
    for name in _LOGGERS + _LOGGERS_OF_POLLS:
        logger = logging.getLogger(name)
        if not any(isinstance(existing, TokenMask) for existing in logger.filters):
            logger.addFilter(TokenMask())
