"""Offer `sayso …`: one file a command group; only the group that is called is imported.

Exit codes: 0 done, 1 Sayso failed, 2 usage or configuration, 3 denied, 4 pending or timed out; a
run that ran passes its own code through.
"""

import errno
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser

# Which module offers a command; the order is that of the help.
COMMANDS = {
    "demo": "bot.cli.demo",
    "serve": "bot.cli.serve",
    "run": "bot.cli.run.command",
    "pending": "bot.cli.approve",
    "approve": "bot.cli.approve",
    "cancel": "bot.cli.cancel",
    "history": "bot.cli.approve",
    "events": "bot.cli.events",
    "people": "bot.cli.people",
    "grants": "bot.cli.grants",
    "task": "bot.cli.grants",
    "token": "bot.cli.token",
    "lockdown": "bot.cli.lockdown",
    "policy": "bot.cli.policy.command",
    "prompt": "bot.cli.prompt",
    "approvals": "bot.cli.approvals.command",
    "exec": "bot.cli.exec.command",
    "diagnostics": "bot.cli.exec.command",
    "check": "bot.cli.exec.command",
    "audit": "bot.cli.audit",
    "config": "bot.cli.config",
    "doctor": "bot.cli.doctor",
}

_NO_PLACE = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO))
"""What printing fails with; files that we write have errors of their own."""

_EPILOG = """\
Start here:
  sayso demo                     try Sayso end to end in a temporary home
  sayso serve                    run the gateway
  sayso run -c 'git status'      request to run a command
  sayso approve K3F7QZ allow-once   answer a pending approval
"""


def build_parser(command: str | None = None) -> "ArgumentParser":
    """Return the parser of one command, or of all when ``command`` names none."""
    import argparse  # noqa: PLC0415 - a third of the start of `sayso run`, which seldom needs it
    from importlib import import_module  # noqa: PLC0415 - the same

    from bot.cli.help_format import Formatter  # noqa: PLC0415 - the same

    parser = argparse.ArgumentParser(
        prog="sayso",
        description="Your agents run commands on your say-so.",
        epilog=_EPILOG,
        formatter_class=Formatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    wanted = [COMMANDS[command]] if command in COMMANDS else dict.fromkeys(COMMANDS.values())
    for module in wanted:
        import_module(module).register(commands)
    return parser


def main(words: list[str] | None = None) -> int:
    """Run one command and return its exit code; the entry point of the script ``sayso``."""
    words = sys.argv[1:] if words is None else words
    _fill()
    try:
        code = _run(words)
        return _flushed() or code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of our output is gone; nothing is left to say, and to nobody.
        let_go()
        sys.stderr.close()
        return 1


def _fill() -> None:
    """Print to nowhere where standard output or error is closed: Python has ``None`` there."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115 - see bot.cli.paths; open to the end


def _flushed() -> int:
    """Write what was printed; return 1 where it has no place, else 0."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as problem:
        return _unwritten(problem)
    return 0


def _unwritten(problem: OSError) -> int:
    let_go()
    sys.stderr.write(f"sayso: cannot write the output ({problem.strerror})\n")
    return 1


def let_go() -> None:
    """Send what is still to be printed to nowhere, so that the end does not fail at it again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


def _run(words: list[str]) -> int:
    try:
        code = _run_quickly(words)
        return _run_parsed(words) if code is None else code
    except Exception as failure:  # noqa: BLE001 - printed in one line if it is ours, else re-raised
        return _failed(failure)


def _run_quickly(words: list[str]) -> int | None:
    """Run `sayso run`, which precedes every command of an agent, without the parser."""
    if words[:1] != ["run"]:
        return None
    from bot.cli.run.command import run_words  # noqa: PLC0415 - only the group that is called

    return run_words(words[1:])


def _run_parsed(words: list[str]) -> int:
    args = build_parser(words[0] if words else None).parse_args(words)
    if args.version:
        return _version()
    if args.command is None:
        build_parser().print_help()
        return 2
    code: int = args.run(args)
    return code


def _failed(failure: Exception) -> int:
    from core.errors import SaysoError  # noqa: PLC0415 - 4 ms that only a failure needs

    if isinstance(failure, OSError) and failure.errno in _NO_PLACE and failure.filename is None:
        return _unwritten(failure)
    if not isinstance(failure, SaysoError):
        raise failure
    sys.stderr.write(f"sayso: {failure}\n")
    return failure.exit_code


def _version() -> int:
    from importlib.metadata import version  # noqa: PLC0415 - slow, rarely needed

    sys.stdout.write(f"sayso {version('sayso')}\n")
    return 0
