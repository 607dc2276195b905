"""Return what makes a request impossible to run as given (``bad_request``)."""

from core.model.command import ExecRequest
from core.model.identity import TASK_NAME, TASK_WORDS
from core.model.policy import ExecHost
from core.model.stdio import LARGEST_STDIN, Capture, Environ, Stdio
from core.planning.environment import environment_fault

LARGEST_COMMAND = 128 * 1024
"""Bytes of a line or vector with its requested environment; the kernel's bound for one string."""

LARGEST_STREAM = 64 * 1024 * 1024
"""Bytes of a separate stream that a request may have kept."""


def request_fault(request: ExecRequest, host: ExecHost) -> str | None:
    """Return what makes a request impossible to run as given, or ``None``."""
    if (request.line is None) == (request.argv is None):
        return "give exactly one of a command line and an argument vector"
    if request.timeout_ms is not None and request.timeout_ms <= 0:
        return "the timeout must be longer than 0 ms"
    if request.task is not None and not TASK_NAME.fullmatch(request.task):
        return f"a task is named with {TASK_WORDS}"
    words = (request.line,) if request.line is not None else request.argv or ()
    fault = (
        _words_fault(words)
        or environment_fault(request.env)
        or _stdio_fault(request.stdio, host)
        or _tool_fault(request)
    )
    if fault is not None:
        return fault
    changes = [part for pair in request.env for part in pair]
    return _bytes_fault([*words, *changes, request.cwd])


def _words_fault(words: tuple[str, ...]) -> str | None:
    if not words or not words[0].strip():
        return "the command is empty"
    if any("\0" in word for word in words):
        return "the command contains a NUL character"
    return None


def _bytes_fault(parts: list[str]) -> str | None:
    """Return why the parts cannot be handed to the kernel: not UTF-8, or too long."""
    try:
        size = len("\0".join(parts).encode())
    except UnicodeEncodeError:
        return "the request contains a lone surrogate, which has no encoding; fix its encoding"
    if size > LARGEST_COMMAND:
        return f"the command and its environment are {size} bytes; the maximum is {LARGEST_COMMAND}"
    return None


def _stdio_fault(stdio: Stdio, host: ExecHost) -> str | None:
    size = len(stdio.stdin or b"")
    if size > LARGEST_STDIN:
        return f"standard input is {size} bytes; the maximum is {LARGEST_STDIN}"
    if min(stdio.most_stdout, stdio.most_stderr) < 1:
        return "at least 1 byte of each stream must be kept"
    if max(stdio.most_stdout, stdio.most_stderr) > LARGEST_STREAM:
        return f"at most {LARGEST_STREAM} bytes of a stream can be kept"
    if stdio.capture is Capture.PTY and host is ExecHost.SANDBOX:
        return "the sandbox gives no terminal; request none, or another host"
    return None


def _tool_fault(request: ExecRequest) -> str | None:
    if request.cpu_s is not None and request.cpu_s < 1:
        return "the CPU limit must be at least 1 s"
    if request.environ is not Environ.STANDARD and request.argv is None:
        return "a hardened tool runs an argument vector, not a line"
    return None


def terminal_fault(stdio: Stdio, commands: int) -> str | None:
    """Return why this many commands cannot share a terminal, or ``None``."""
    if stdio.capture is Capture.PTY and commands > 1:
        return (
            f"a terminal is for one command, and the line has {commands}; request them one by one"
        )
    return None
