"""Offer `sayso …`: one file a command group; only the group that is called is imported.

Exit codes: 0 done, 1 Sayso failed, 2 usage or configuration, 3 denied, 4 pending or timed out, 5 no
answer came and it may have happened; a run that ran passes its own code through.
"""

import errno
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from bot.cli.parser import Parser

# Which module offers a command; the order is that of the help.
COMMANDS = {
    "init": "bot.cli.init.command",
    "demo": "bot.cli.demo",
    "serve": "bot.cli.gateway.serve",
    "service": "bot.cli.gateway.service",
    "executor": "bot.cli.executor",
    "status": "bot.cli.gateway.status",
    "doctor": "bot.cli.doctor",
    "config": "bot.cli.config",
    "run": "bot.cli.run.command",
    "pending": "bot.cli.gateway_commands",
    "show": "bot.cli.history",
    "approve": "bot.cli.gateway_commands",
    "deny": "bot.cli.gateway_commands",
    "companion": "bot.cli.companion",
    "cancel": "bot.cli.gateway_commands",
    "history": "bot.cli.history",
    "events": "bot.cli.gateway_commands",
    "people": "bot.cli.gateway_commands",
    "grants": "bot.cli.gateway_commands",
    "task": "bot.cli.gateway_commands",
    "token": "bot.cli.gateway_commands",
    "login": "bot.cli.gateway_commands",
    "approvals": "bot.cli.approvals.command",
    "policy": "bot.cli.policy.command",
    "prompt": "bot.cli.prompt",
    "terminal": "bot.cli.terminal.command",
    "lockdown": "bot.cli.lockdown",
    "audit": "bot.cli.audit",
    "node": "bot.cli.nodes",
    "exec": "bot.cli.exec.command",
    "check": "bot.cli.exec.command",
    "diagnostics": "bot.cli.exec.command",
    "help": "bot.cli.help.command",
    "completion": "bot.cli.help.command",
}
_HEADINGS = {
    "init": "The gateway",
    "run": "Requests",
    "people": "People and what they allowed",
    "policy": "Policy",
    "lockdown": "Safety",
    "node": "Other machines",
    "help": "Help",
}
"""Headings of the help, each above the command that it is named with here."""

_NO_PLACE = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO))
"""What printing fails with; files that we write have errors of their own."""

_START = """\
Start here:
  sayso demo                        try Sayso in a temporary home
  sayso init                        set up Sayso: who is asked, and where
  sayso serve                       run the gateway
  sayso run -c 'git status'         request to run a command
  sayso approve K3F7QZ allow-once   answer a pending approval
  sayso help people                 help for one command
  sayso help exit-codes             a topic; also: environment, files, json
"""


class Failures:
    """How failures and remarks are printed: as text, or as JSON where ``--json`` was given."""

    as_json = False


def fail(
    words: str,
    prog: str = "sayso",
    code: int = 2,
    kind: str = "usage",
    usage: str = "",
    more: "Mapping[str, object] | None" = None,
) -> int:
    """Print a failure on standard error and return its exit code; ``more`` is for JSON alone."""
    if Failures.as_json:
        error = {"type": kind, "message": words.strip(), "exitCode": code, **(more or {})}
        _print_error({"error": error})
    else:
        sys.stderr.write(f"{usage}{prog}: {words}\n")
    return code


def remark(kind: str, words: str) -> None:
    """Print what a person should know beside the result, on standard error.

    ``kind`` is ``note`` or ``warning``; with ``--json`` it is the only key of an object.
    """
    if Failures.as_json:
        _print_error({kind: words})
    else:
        sys.stderr.write(f"{kind}: {words}\n")


def _print_error(value: object) -> None:
    import json  # noqa: PLC0415 - for failures and remarks only

    sys.stderr.write(json.dumps(value, ensure_ascii=False) + "\n")


def build_parser(command: str | None = None) -> "Parser":
    """Return the parser of one command, or of all when ``command`` names none."""
    from importlib import import_module  # noqa: PLC0415 - a third of the start of `sayso run`

    from bot.cli.parser import Parser  # noqa: PLC0415 - the same, which seldom needs it

    parser = Parser(
        prog="sayso",
        usage="%(prog)s [-h] [--version] COMMAND …",
        description=f"Your agents run commands on your say-so.\n\n{_START}",
    )
    parser.set_defaults(json=False, parser=parser, run=None)
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", prog="sayso")
    if command in COMMANDS:
        import_module(COMMANDS[command]).register(commands)
        return parser
    for module in dict.fromkeys(COMMANDS.values()):
        import_module(module).register(commands)
    parser.arrange(commands, COMMANDS, _HEADINGS)
    return parser


def main(words: list[str] | None = None) -> int:
    """Run one command and return its exit code; the entry point of the script ``sayso``."""
    words = sys.argv[1:] if words is None else words
    Failures.as_json = "--json" in words[: words.index("--") if "--" in words else None]
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
    finally:
        Failures.as_json = False


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
    return fail(f"cannot write the output ({problem.strerror})", code=1, kind="OSError")


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
    if words[:1] == ["__complete"]:  # what the scripts of `sayso completion` call
        from bot.cli.help.completion import complete  # noqa: PLC0415 - only the group that is called

        return complete(words[1:])
    if words[:1] != ["run"]:
        return None
    from bot.cli.run.command import run_words  # noqa: PLC0415 - only the group that is called

    return run_words(words[1:])


def whole(words: list[str]) -> list[str]:
    """Return `prompt AGENT …` as the `prompt send AGENT …` that it is short for."""
    agent = words[1] if words[:1] == ["prompt"] and len(words) > 1 else ""
    if agent and not agent.startswith("-") and agent not in {"render", "send"}:
        return ["prompt", "send", *words[1:]]
    return words


def _run_parsed(words: list[str]) -> int:
    words = whole(words)
    parser = build_parser(words[0] if words else None)
    if words and words[0].startswith("-"):
        _no_option_of_run(parser, words)
    args, rest = parser.parse_known_args(words)
    if rest:
        args.parser.unknown(rest)
    if args.version:
        return _version()
    if args.run is None:
        from bot.cli.help.command import first_screen  # noqa: PLC0415 - for this case only

        sys.stdout.write(first_screen(_START))
        return 0
    code: int = args.run(args)
    return code


def _no_option_of_run(parser: "Parser", words: list[str]) -> None:
    """Report words that begin with an option of `sayso run` in place of a command."""
    from shlex import join  # noqa: PLC0415 - for mistakes only

    from bot.cli.run.arguments import FLAGS, VALUES  # noqa: PLC0415 - the same

    first = words[0]
    option = "-c" if first.startswith("-c") else first.partition("=")[0]
    if option in {"-c", "--", *VALUES, *FLAGS} - {"--json"}:  # which most commands have
        parser.error(f"no command before {option}; did you mean `sayso run {join(words)}`?")


def _failed(failure: Exception) -> int:
    from core.errors import SaysoError  # noqa: PLC0415 - 4 ms that only a failure needs

    if isinstance(failure, OSError) and failure.errno in _NO_PLACE and failure.filename is None:
        return _unwritten(failure)
    if not isinstance(failure, SaysoError):
        raise failure
    return fail(str(failure), code=failure.exit_code, kind=type(failure).__name__)


def _version() -> int:
    from importlib.metadata import version  # noqa: PLC0415 - slow, rarely needed

    sys.stdout.write(f"sayso {version('sayso')}\n")
    return 0
