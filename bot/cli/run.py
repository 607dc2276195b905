"""Offer `sayso run`: ask the gateway to run something, wait, and pass its end through."""

import argparse
import os
import sys

from bot.cli.home import socket_path
from bot.cli.layout import Formatter
from bot.client import Client

_EXAMPLES = """\
examples:
  sayso run -c 'git log --oneline | head -5'     a command line
  sayso run --agent coder -- make test           an argument vector, no shell grammar
  sayso run --no-wait -c 'rm -rf build'          print the id and return (exit 4 while pending)
"""
_DENIED, _PENDING, _SIGNALLED = 3, 4, 128


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "run",
        help="ask to run a command",
        epilog=_EXAMPLES,
        formatter_class=Formatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("-c", dest="line", metavar="LINE", help="a command line, as typed in a shell")
    add("argv", nargs="*", metavar="-- ARGV", help="an argument vector")
    add("--agent", default="main", metavar="A", help="the agent that asks (default: main)")
    add("--session", default="main", metavar="K", help="the session that hears events")
    add("--cwd", default=None, metavar="D", help="where it runs (default: here)")
    add("--timeout", type=float, metavar="S", help="wall clock of the run, seconds")
    add("--host", choices=("sandbox", "gateway", "node"), help="where it runs")
    add("--node", metavar="N", help="which node, with --host node")
    add("--ask", choices=("off", "on-miss", "always"), help="ask more often than configured")
    add("--security", choices=("deny", "allowlist", "full"), help="allow less than configured")
    add("--env", action="append", default=[], metavar="K=V", help="ask to set a variable")
    add("--request-key", metavar="KEY", help="the same key is the same request (idempotency)")
    add("--no-wait", action="store_true", help="print the id, do not wait for people")
    add("--json", action="store_true", help="print the result as one JSON object")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Ask, wait, print, and return the exit code of `sayso run`."""
    if (args.line is None) == (not args.argv):
        sys.stderr.write("sayso run: give either -c 'LINE' or -- ARGV…; see `sayso run --help`\n")
        return 2
    with Client(socket_path()) as client:
        answer = client.call("exec.run", {**_params(args), "wait": False})
        if answer["status"] in {"pending", "running"} and not args.no_wait:
            _say_waiting(answer)
            answer = _waited(client, str(answer["id"]))
    return _print_json(answer) if args.json else _print(answer)


def _waited(client: Client, run_id: str) -> dict[str, object]:
    """Wait for the end; a gateway that goes away meanwhile keeps the run, and so can the caller."""
    try:
        answer: dict[str, object] = client.call("exec.wait", {"id": run_id})
    except Exception:
        sys.stderr.write(f"sayso: lost sight of run {run_id}; `sayso history` tells how it ends\n")
        raise
    return answer


def _params(args: argparse.Namespace) -> dict[str, object]:
    wish = {
        "command": args.line,
        "argv": args.argv or None,
        "cwd": os.path.abspath(args.cwd or os.getcwd()),  # noqa: PTH100, PTH109 - see bot.cli.home
        "agent": args.agent,
        "session": args.session,
        "env": dict(pair.partition("=")[::2] for pair in args.env),
        "host": args.host,
        "security": args.security,
        "ask": args.ask,
        "node": args.node,
        "timeoutMs": None if args.timeout is None else max(1, round(args.timeout * 1000)),
        "requestKey": args.request_key,
    }
    return {key: value for key, value in wish.items() if value is not None}


def _say_waiting(answer: dict[str, object]) -> None:
    if answer["status"] == "pending" and sys.stderr.isatty():
        sys.stderr.write(
            f"sayso: asking a person ({answer['code']}); "
            f"`sayso approve {answer['code']} allow-once|allow-always|deny` answers\n"
        )


def _print_json(answer: dict[str, object]) -> int:
    import json  # noqa: PLC0415 - the client has its own reader

    sys.stdout.write(json.dumps(answer, ensure_ascii=False) + "\n")
    return exit_code(answer)


def _print(answer: dict[str, object]) -> int:
    match answer["status"]:
        case "finished":
            sys.stdout.write(str(answer["output"]))
            if answer["timedOut"]:
                sys.stderr.write("sayso: ended after its wall clock; raise --timeout\n")
        case "denied":
            sys.stderr.write(f"sayso: denied ({answer['reason']}): {answer['why']}\n")
        case "pending":
            sys.stdout.write(f"{answer['id']}\n")
            sys.stderr.write(f"sayso: pending as {answer['code']}\n")
        case "running":
            sys.stdout.write(f"{answer['id']}\n")
        case _:
            sys.stderr.write("sayso: the gateway died while it ran; how it ended is unknown\n")
    return exit_code(answer)


def exit_code(answer: dict[str, object]) -> int:
    """Return the exit code that a shell would show for an answer of ``exec.run``."""
    match answer["status"]:
        case "finished":
            code, signal = answer["exitCode"], answer["signal"]
            if answer["timedOut"]:
                return _PENDING
            return code if isinstance(code, int) else _SIGNALLED + int(str(signal or 0))
        case "denied":
            return _DENIED
        case "pending" | "running":
            return _PENDING
        case _:
            return 1
