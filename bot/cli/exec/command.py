"""Offer `sayso exec …`, `diagnostics exec` and `check --exec-acl`: remote exec (S4)."""

import argparse
import sys

from bot.cli.arg_types import seconds
from bot.cli.exec import contacts, output
from bot.cli.help_format import Formatter
from bot.cli.paths import socket_path
from bot.client import Client

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

AGENT = "AGENT"
_EXAMPLES = """\
examples:
  sayso exec AGENT -- systemctl status nginx        AGENT: a contact's name, or its agent id
  sayso exec AGENT --timeout 30 -- journalctl -u nginx -n 100
  sayso exec AGENT --stdin-file payload.bin -- some-tool --consume-stdin
  sayso exec AGENT --cancel 8f14e45fceea167a5a36dedd4bea2543
  sayso exec sessions                               requests in progress, in both directions
  sayso exec identity                               our ids, for others' access lists
  sayso exec contacts list                          known and trusted machines
"""
_DIAGNOSTICS = """\
example:
  sayso diagnostics exec --json
"""
_CHECK = """\
example:
  sayso check --exec-acl ./exec-acl.toml && systemctl restart sayso
"""
_LARGEST_STDIN = 1 << 20


class _Names(dict[str, argparse.ArgumentParser]):
    """Parsers by name; any other word means an agent."""

    def __missing__(self, name: str) -> argparse.ArgumentParser:
        return self[AGENT]


class _AnyWord(dict[str, argparse.ArgumentParser]):
    """The same parsers as choices, among which every word counts."""

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str)


class _AgentOrWord(argparse._SubParsersAction):  # type: ignore[type-arg] # noqa: SLF001 - argparse offers no public class
    """Sub-commands among which an agent may stand: `exec AGENT …`, `exec sessions`."""

    def __init__(self, *args: "Any", **kwargs: "Any") -> None:  # noqa: ANN401 - argparse's own
        super().__init__(*args, **kwargs)
        self._name_parser_map, self.choices = _Names(), _AnyWord()

    def add_parser(self, name: str, **kwargs: "Any") -> argparse.ArgumentParser:  # noqa: ANN401 - argparse's own
        """Add one, as `add_subparsers` says."""
        parser: argparse.ArgumentParser = super().add_parser(name, **kwargs)
        self.choices[name] = parser
        return parser


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the commands to the parser."""
    group = _group(commands, "exec", "run listed commands on another machine", _EXAMPLES)
    inner = group.add_subparsers(
        action=_AgentOrWord, dest="agent", required=True, metavar="AGENT|WORD"
    )
    _add_run(inner)
    sessions = command(inner, "sessions", "list requests in progress, ours and others'", _EXAMPLES)
    sessions.set_defaults(run=output.sessions)
    identity = command(inner, "identity", "print the ids for others' access lists", _EXAMPLES)
    identity.set_defaults(run=output.identity)
    contacts.register(
        _group(inner, "contacts", "manage contacts: known and trusted machines", _EXAMPLES)
    )
    outer = _group(commands, "diagnostics", "show counters", _DIAGNOSTICS)
    parts = outer.add_subparsers(dest="part", required=True, metavar="PART")
    counts = command(parts, "exec", "show counts of what remote exec ran and denied", _DIAGNOSTICS)
    counts.set_defaults(run=output.diagnostics)
    check = command(commands, "check", "check an access list; nothing is started", _CHECK)
    check.add_argument("--exec-acl", required=True, metavar="F", help="the exec-acl.toml to check")
    check.set_defaults(run=output.check)


def _group(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    purpose: str,
    examples: str,
) -> argparse.ArgumentParser:
    return commands.add_parser(
        name, help=purpose, epilog=examples, formatter_class=Formatter, allow_abbrev=False
    )


def command(
    group: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    purpose: str,
    examples: str,
) -> argparse.ArgumentParser:
    """Add one command with `--json`."""
    parser = _group(group, name, purpose, examples)
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _add_run(inner: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = command(inner, AGENT, "run an argument vector there, or cancel a request", _EXAMPLES)
    add = parser.add_argument
    add(
        "argv",
        nargs="*",
        metavar="-- ARGV",
        help="the argument vector; the host's access list decides",
    )
    add("--timeout", type=seconds, metavar="S", help="timeout in seconds; the host's limit applies")
    add("--stdin-file", metavar="F", help="the command's standard input, 1 MiB at most")
    add("--cancel", metavar="ID", help="cancel the request with this id instead")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run or cancel; pass the command's streams and code through."""
    if (args.cancel is None) == (not args.argv):
        sys.stderr.write("sayso exec: give either -- ARGV… or --cancel ID; see --help\n")
        return 2
    agent_id = contacts.agent_id(args.agent)
    params = _wish(agent_id, args)
    with Client(socket_path()) as client:
        if args.cancel is not None:
            return output.cancel(client, agent_id, args)
        answer = client.call("exec.remote.run", params)
        return output.ended(client, answer, as_json=args.json)


def _wish(agent_id: str, args: argparse.Namespace) -> "dict[str, object]":
    params: dict[str, object] = {"agent_id": agent_id, "argv": args.argv}
    if args.timeout is not None:
        params["timeout_ms"] = max(1, round(args.timeout * 1000))
    if args.stdin_file is not None:
        params["stdin_b64"] = _stdin(args.stdin_file)
    return params


def _stdin(name: str) -> str:
    """Return a file's content in base64.

    Raises:
        BadRequest: it cannot be read, or is larger than any host takes.
    """
    import base64  # noqa: PLC0415 - rarely needed

    from core.errors import BadRequest  # noqa: PLC0415 - rarely needed

    try:
        with open(name, "rb") as file:  # noqa: PTH123 - see bot.cli.paths
            data = file.read(_LARGEST_STDIN + 1)
    except OSError as error:
        raise BadRequest(f"{name} cannot be read: {error.strerror}.") from None
    if len(data) > _LARGEST_STDIN:
        raise BadRequest(
            f"{name} is larger than {_LARGEST_STDIN} bytes, the maximum that a host accepts."
        )
    return base64.b64encode(data).decode()
