"""Turn the arguments of `sayso run` into the params of ``exec.run``."""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

MOST_INPUT = 1024 * 1024
"""Bytes; the gateway accepts no more (S4 ``max_stdin_bytes``)."""


class UsageError(Exception):
    """The arguments ask for something impossible; the message says what to change."""


def params_of(args: "Namespace", *, separate: bool) -> "dict[str, object]":
    """Return the params.

    Raises:
        UsageError: the arguments contradict each other, or standard input cannot be read.
    """
    if (args.line is None) == (not args.argv):
        raise UsageError("give either -c 'LINE' or -- ARGV…; see `sayso run --help`")
    params = {
        "command": args.line,
        "argv": args.argv or None,
        "cwd": os.path.abspath(args.cwd or os.getcwd()),  # noqa: PTH100, PTH109 - see bot.cli.paths
        "agent": args.agent,
        "session": args.session,
        "task": (os.environ.get("SAYSO_TASK") if args.task is None else args.task) or None,
        "env": _variables(args.env),
        "host": args.host,
        "security": args.security,
        "ask": args.ask,
        "node": args.node,
        "timeoutMs": None if args.timeout is None else max(1, round(args.timeout * 1000)),
        "requestKey": args.request_key,
        "stdin": _input(args),
        "capture": "pty" if args.pty else "separate" if separate else None,
        "stream": True,
        "wait": None if not args.no_wait else False,
    }
    return {key: value for key, value in params.items() if value is not None}


def _variables(pairs: list[str]) -> dict[str, str]:
    for pair in pairs:
        if pair.find("=") < 1:
            raise UsageError(f"--env {pair}: write NAME=VALUE, or NAME= for an empty value")
    return dict(pair.split("=", 1) for pair in pairs)


def _input(args: "Namespace") -> str | None:
    """Return standard input in base64, ``None`` if none was requested."""
    if not args.stdin and args.stdin_file is None:
        return None
    from binascii import b2a_base64  # noqa: PLC0415 - seldom needed

    if args.stdin and args.stdin_file is not None:
        raise UsageError("give either --stdin or --stdin-file F")
    data = _read(args.stdin_file)
    if len(data) > MOST_INPUT:
        raise UsageError(f"standard input is longer than {MOST_INPUT:,} bytes; pass a file's path")
    return b2a_base64(data, newline=False).decode("ascii")


def _read(path: str | None) -> bytes:
    """Read one byte more than is allowed, from a file or from our own standard input."""
    try:
        fd = 0 if path is None else os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    data = bytearray()
    try:
        while len(data) <= MOST_INPUT and (chunk := os.read(fd, MOST_INPUT + 1 - len(data))):
            data += chunk
    except OSError as error:
        raise UsageError(f"{path or 'standard input'} cannot be read: {error.strerror}") from None
    finally:
        if path is not None:
            os.close(fd)
    return bytes(data)
