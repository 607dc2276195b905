"""Write the gateway's log to standard error: readable, or one JSON object per line."""

import io
import json
import logging
import os
import sys
import time

from bot.wiring.log_writer import LogWriter
from core.errors import StoreAway
from core.settings.gateway import LogLevel
from core.text.render import redact


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "at": _utc(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _clean(record.getMessage()),
        }
        if record.exc_info:
            line["error"] = _clean(self.formatException(record.exc_info))
        return json.dumps(line, ensure_ascii=False)


class _Plain(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = f"{_utc(record)} {record.levelname.lower()} {record.name}: "
        line += _clean(record.getMessage())
        if record.exc_info:
            line += "\n" + _clean(self.formatException(record.exc_info))
        return line


class _SaidOnce(logging.Filter):
    """Drops records that only repeat that the database is unreachable.

    ``core.store.engine.outage`` reports that once, reports when it is back, and counts what failed
    in between.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a record is about something else."""
        failure = record.exc_info[1] if record.exc_info else None
        while failure is not None and not isinstance(failure, StoreAway):
            failure = failure.__cause__
        carried = record.args.values() if isinstance(record.args, dict) else record.args or ()
        return failure is None and not any(isinstance(one, StoreAway) for one in carried)


def configure(*, json_lines: bool) -> None:
    """Send warnings and errors of all modules, and our own information, to standard error.

    ``set_level`` changes that once the settings are read. From now on, nothing that this process
    writes there waits for its reader.
    """
    old = sys.stderr
    writer = LogWriter(old.fileno())
    sys.stderr = io.TextIOWrapper(writer, old.encoding, "backslashreplace", write_through=True)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonLines() if json_lines else _Plain())
    handler.addFilter(_SaidOnce())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    set_level(LogLevel.INFO)


def set_level(level: LogLevel) -> None:
    """Log what has at least this level; of libraries, only warnings and above.

    At debug they would log whole messages of the platforms, and every query.
    """
    logging.getLogger().setLevel(max(logging.WARNING, level.number))
    for name in ("bot", "channels", "core"):
        logging.getLogger(name).setLevel(level.number)


def spare_prompts() -> None:
    """Leave requests out of the log if it goes to a terminal in which people answer prompts.

    The page alone would put a line between prompts every few seconds; errors are still logged.
    """
    if os.isatty(sys.stderr.fileno()):
        logging.getLogger("bot.api.access.access_log").setLevel(logging.WARNING)


def _utc(record: logging.LogRecord) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created))


def _clean(text: str) -> str:
    return redact(text, multiline=True).text
