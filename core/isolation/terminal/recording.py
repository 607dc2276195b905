"""Record what a terminal shows as an asciicast (version 2): a header, then one event per line.

What is typed is not recorded, so a password that is not echoed is not in it. What is shown is
recorded as it is: redacting it would break the sequences that draw the screen.
"""

import codecs
import json
import os
import time
from pathlib import Path

from core.isolation.terminal.size import Size

FOLDER = "terminals"
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Recording:
    """One file of mode 0600, ``most`` bytes at most; a full disk ends only the recording.

    Raises:
        OSError: it cannot be made.
    """

    def __init__(self, path: Path, size: Size, most: int) -> None:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        self._file = os.fdopen(os.open(path, _NEW, 0o600), "wb")
        self._left = most
        self._began = time.monotonic()
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        header = {"version": 2, "width": size.columns, "height": size.rows}
        self._write({**header, "timestamp": round(time.time())})

    def shown(self, data: bytes) -> None:
        """Record output; a character that arrives in two pieces is kept whole."""
        text = self._decoder.decode(data)
        if text:
            self._event("o", text)

    def resized(self, size: Size) -> None:
        """Record a new size."""
        self._event("r", f"{size.columns}x{size.rows}")

    def close(self) -> None:
        """End it."""
        self._left = 0
        try:
            self._file.close()
        except OSError:
            return  # a full disk did not take all of it

    def _event(self, kind: str, text: str) -> None:
        self._write([round(time.monotonic() - self._began, 6), kind, text])

    def _write(self, value: object) -> None:
        line = json.dumps(value, ensure_ascii=False).encode(errors="replace") + b"\n"
        if len(line) > self._left:
            self._left = 0  # nothing after a gap, so that what was recorded still plays
            return
        self._left -= len(line)
        try:
            self._file.write(line)
            self._file.flush()
        except OSError:
            self._left = 0
