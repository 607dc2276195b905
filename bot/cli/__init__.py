"""Offer `sayso …`: one file per command group; only the group that is called is imported.

Exit codes: 0 done, 1 Sayso failed, 2 usage or configuration, 3 denied, 4 pending or timed out, 5 no
answer came and it may have happened; a command that ran passes its own code through.

::

    parser            builds the parsers: commands as rows of a table
    gateway_commands  commands that are one call to the gateway;  call makes it
    listings          formats what such a call lists
    run/              `sayso run`
    approvals/ audit companion exec/ history init/ lockdown node policy/ prompt terminal/
                      the commands of these names
    gateway/          commands that set up, run and inspect the gateway
    help/             help, completion and the man page
    arg_types         numbers on a command line
    paths             $SAYSO_HOME, without the settings
    garbage           keeps the collector out of the start
"""

import errno
import os
import sys
from io import TextIOWrapper

from bot.cli import garbage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from bot.cli.parser import Parser

_HERE = os.path.dirname(__file__)  # noqa: PTH120 - see bot.cli.paths
_BESIDE = {"show": "history", "check": "exec", "diagnostics": "exec", "completion": "help"}
"""Commands offered by another command's module; without an entry they would only start slower."""
_HEADINGS = (
    "The gateway",
    "Requests",
    "People and what they allowed",
    "Policy",
    "Safety",
    "Other machines",
    "Help",
)
"""The order of the headings in the help; each module names the heading of its commands."""

_NO_PLACE = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO))
"""The errors of printing; files that we write raise other errors."""

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
    """How failures and remarks are printed: as text, or as JSON if ``--json`` was given."""

    as_json = False


def fail(
    words: str,
    prog: str = "sayso",
    code: int = 2,
    kind: str = "usage",
    usage: str = "",
    more: "Mapping[str, object] | None" = None,
) -> int:
    """Print a failure on standard error and return its exit code; ``more`` is only for JSON."""
    if Failures.as_json:
        error = {"type": kind, "message": words.strip(), "exitCode": code, **(more or {})}
        _print_error({"error": error})
    else:
        sys.stderr.write(f"{usage}{prog}: {words}\n")
    return code


def remark(kind: str, words: str) -> None:
    """Print on standard error what a person should know in addition to the result.

    ``kind`` is ``note`` or ``warning``; with ``--json`` it is the only key of an object.
    """
    if Failures.as_json:
        _print_error({kind: words})
    else:
        sys.stderr.write(f"{kind}: {words}\n")


def _print_error(value: object) -> None:
    import json  # noqa: PLC0415 - for failures and remarks only

    sys.stderr.write(json.dumps(value, ensure_ascii=False) + "\n")


def modules() -> dict[str, str]:
    """Return the modules that may offer commands, by the command that each is named for.

    `sayso NAME` is offered by ``NAME.py``, ``NAME/command.py`` or ``gateway/NAME.py``.
    """
    found = {}
    for folder in ("", "gateway."):
        for entry in sorted(os.listdir(f"{_HERE}/{folder[:-1]}")):  # noqa: PTH208 - see bot.cli.paths
            name, dot, _ = entry.partition(".")
            place = f"{folder}{name}" if dot else f"{folder}{name}.command"
            path = f"{_HERE}/{place.replace('.', '/')}.py"
            if not name.startswith("_") and os.path.exists(path):  # noqa: PTH110 - the same
                found[name] = f"bot.cli.{place}"
    return found


def build_parser(command: str | None = None) -> "Parser":
    """Return the parser of one command, or of all if ``command`` names none.

    Modules are imported, the likely ones first, until one offers it.
    """
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
    known = modules()
    likely = (command, _BESIDE.get(command or ""), "gateway_commands")
    for name in dict.fromkeys((*(one for one in likely if one in known), *known)):
        module = import_module(known[name])
        if hasattr(module, "register"):
            module.register(commands)
        if command in commands.choices:
            return parser
    parser.arrange(commands, _HEADINGS)
    return parser


def main(words: list[str] | None = None) -> int:
    """Run one command and return its exit code; the entry point of the script ``sayso``."""
    words = sys.argv[1:] if words is None else words
    Failures.as_json = "--json" in words[: words.index("--") if "--" in words else None]
    _fill_closed_streams()
    _print_any_character()
    garbage.collect_rarely()
    try:
        code = _run(words)
        return _flushed() or code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of our output is gone; there is nothing left to say, and nobody to say it to.
        discard_output()
        sys.stderr.close()
        return 1
    finally:
        garbage.collect_as_usual()
        Failures.as_json = False


def _fill_closed_streams() -> None:
    """Open /dev/null in place of each standard stream that is closed: Python has ``None`` there.

    The number is taken too. Else a file or socket would get it, and what starts a process would
    take that for the stream.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            found = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(found, found == number)
            setattr(sys, name, open(found, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 - see bot.cli.paths; open to the end


def _print_any_character() -> None:
    """Print the number of a character that the locale's encoding lacks, instead of failing on it.

    JSON is UTF-8 in every locale (RFC 8259): programs read it.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            if Failures.as_json:
                stream.reconfigure(encoding="utf-8", errors="backslashreplace")
            elif stream.errors == "strict":
                stream.reconfigure(errors="backslashreplace")


def _flushed() -> int:
    """Write what was printed; return 1 if it cannot be written, else 0."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as problem:
        return _unwritten(problem)
    return 0


def _unwritten(problem: OSError) -> int:
    discard_output()
    return fail(f"cannot write the output ({problem.strerror})", code=1, kind="OSError")


def discard_output() -> None:
    """Discard what is still to be printed, so that the exit does not fail on it again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


def _run(words: list[str]) -> int:
    try:
        code = _run_quickly(words)
        return _run_parsed(words) if code is None else code
    except SystemExit:  # argparse, after a mistake or the help
        if _flushed():
            return 1
        raise
    except Exception as failure:  # noqa: BLE001 - printed in one line if it is ours, else re-raised
        return _failed(failure)


def _run_quickly(words: list[str]) -> int | None:
    """Run `sayso run`, which precedes every command of an agent, without loading the parser."""
    if words[:1] == ["__complete"]:  # called by the scripts of `sayso completion`
        from bot.cli.help.completion import complete  # noqa: PLC0415 - only the group that is called

        return complete(words[1:])
    if words[:1] != ["run"]:
        return None
    from bot.cli.run.command import run_words  # noqa: PLC0415 - only the group that is called

    return run_words(words[1:])


def with_send(words: list[str]) -> list[str]:
    """Return `prompt AGENT …` expanded to `prompt send AGENT …`, which it is short for."""
    agent = words[1] if words[:1] == ["prompt"] and len(words) > 1 else ""
    if agent and not agent.startswith("-") and agent not in {"render", "send"}:
        return ["prompt", "send", *words[1:]]
    return words


def _run_parsed(words: list[str]) -> int:
    words = with_send(words)
    parser = build_parser(words[0] if words else None)
    if words and words[0].startswith("-"):
        from bot.cli.run.arguments import misplaced  # noqa: PLC0415 - for mistakes only

        problem = misplaced(words)
        if problem:
            parser.error(problem)
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
