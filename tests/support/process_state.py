"""Print what a process was given as JSON, once its input ends: to compare a fork with an exec."""

import atexit
import json
import os
import resource
import signal
import stat
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any


def state() -> dict[str, Any]:
    """Return everything that an exec would have set, and how the interpreter started."""
    main = sys.modules["__main__"]
    return {
        "argv": sys.argv,
        "orig_argv": sys.orig_argv,
        "command line": Path("/proc/self/cmdline").read_text().rstrip("\0").split("\0"),
        "environ": dict(os.environ),
        "cwd": os.getcwd(),  # noqa: PTH109 - as the kernel says it
        "path": sys.path,
        "main": (main.__name__, main.__file__, main.__spec__.name if main.__spec__ else None),
        "descriptors": [(fd, _kind(fd)) for fd in range(256) if _kind(fd)],
        "streams": [_stream(one) for one in (sys.stdin, sys.stdout, sys.stderr)],
        "as at the start": sys.stdout is sys.__stdout__,
        "leads a session": os.getsid(0) == os.getpid(),
        "leads a group": os.getpgrp() == os.getpid(),
        "foreground": sys.stdin.isatty() and os.tcgetpgrp(0) == os.getpgrp(),
        "signals": {one.name: str(signal.getsignal(one)) for one in signal.Signals},
        "mask": [signal.Signals(one).name for one in signal.pthread_sigmask(signal.SIG_BLOCK, ())],
        "flags": str(sys.flags),
        "umask": os.umask(0o077),
        "files": resource.getrlimit(resource.RLIMIT_NOFILE),
        "threads": len(os.listdir("/proc/self/task")),  # noqa: PTH208 - only counted
    }


def _kind(fd: int) -> str:
    with suppress(OSError):
        return oct(stat.S_IFMT(os.fstat(fd).st_mode))
    return ""


def _stream(stream: Any) -> list[object]:
    raw = getattr(stream.buffer, "raw", stream.buffer)  # there is no buffer with PYTHONUNBUFFERED
    about = ("name", "mode", "encoding", "errors", "line_buffering", "write_through")
    return [getattr(stream, name) for name in about] + [
        type(stream.buffer).__name__,
        raw.name,
        raw.closefd,
    ]


def _late() -> None:
    time.sleep(0.1)
    print("thread")


if __name__ == "__main__":
    code = int(sys.argv[1])
    sys.stdin.read()
    print(json.dumps(state(), sort_keys=True, default=str))
    atexit.register(print, "atexit")
    threading.Thread(target=_late).start()
    sys.exit(code)
