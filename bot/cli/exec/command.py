"""Offer `sayso exec …`, `diagnostics exec` and `check --exec-acl`: remote exec (S4)."""

import argparse

from bot.cli import fail
from bot.cli.arg_types import seconds
from bot.cli.call import Call
from bot.cli.exec import contacts, output
from bot.cli.parser import Parser, arg, command, group, under
from bot.cli.paths import socket_path
from bot.client import Client

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bot.cli.parser import Commands

AGENT = "AGENT"
_EXAMPLES = """\
sayso exec AGENT -- systemctl status nginx        AGENT: a contact's name, or its agent id
sayso exec AGENT --timeout 30 -- journalctl -u nginx -n 100
sayso exec AGENT --stdin-file payload.bin -- some-tool --consume-stdin
sayso exec AGENT --cancel 8f14e45fceea167a5a36dedd4bea2543
sayso exec sessions                               requests in progress, in both directions
sayso exec identity                               our ids, for others' access lists
sayso exec contacts list                          known and trusted machines
"""
_CHECK = """\
sayso check --exec-acl ./exec-acl.toml && systemctl restart sayso
"""
_LARGEST_STDIN = 1 << 20


class _Names(dict[str, Parser]):
    """Parsers by name; any other word names an agent."""

    def __missing__(self, name: str) -> Parser:
        return self[AGENT]


class _AnyWord(dict[str, Parser]):
    """The same parsers as choices that accept every word."""

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str)


class _AgentOrWord(argparse._SubParsersAction):  # type: ignore[type-arg] # noqa: SLF001 - argparse offers no public class
    """Sub-commands in place of which an agent may be named: `exec AGENT …`, `exec sessions`."""

    def __init__(self, *args: "Any", **kwargs: "Any") -> None:  # noqa: ANN401 - argparse's own
        super().__init__(*args, **kwargs)
        self._name_parser_map, self.choices = _Names(), _AnyWord()

    def add_parser(self, name: str, **kwargs: "Any") -> Parser:  # noqa: ANN401 - argparse's own
        """Add a parser, as `add_subparsers` documents."""
        parser: Parser = super().add_parser(name, **kwargs)
        self.choices[name] = parser
        return parser


def register(commands: "Commands") -> None:
    """Add the commands to the parser."""
    inner = group(
        commands,
        "exec",
        "run listed commands on another machine",
        _EXAMPLES,
        action=_AgentOrWord,
        dest="agent",
        metavar="AGENT|WORD",
    )
    argv = "the argument vector; the host's access list decides"
    lasts = "timeout in seconds; the host's limit applies"
    command(
        inner,
        AGENT,
        "run an argument vector there, or cancel a request",
        _EXAMPLES,
        run,
        arg("argv", nargs="*", metavar="-- ARGV", help=argv),
        arg("--timeout", type=seconds, metavar="S", help=lasts),
        arg("--stdin-file", metavar="F", help="the command's standard input, 1 MiB at most"),
        arg("--cancel", metavar="ID", help="cancel the request with this id instead"),
    )
    purpose = "list requests in progress, ours and others'"
    call = Call("exec.remote.sessions", "", output.sessions)
    command(inner, "sessions", purpose, "sayso exec sessions --json", call)
    purpose = "print the ids for others' access lists"
    command(inner, "identity", purpose, "sayso exec identity", output.identity)
    contacts.register(group(inner, "contacts", "manage contacts: known and trusted machines"))
    parts = group(commands, "diagnostics", "show counters", dest="part", metavar="PART")
    purpose = "show counts of what remote exec ran and denied"
    call = Call("exec.remote.diagnostics", "", output.counters)
    command(parts, "exec", purpose, "sayso diagnostics exec --json", call)
    acl = arg("--exec-acl", required=True, metavar="F", help="the exec-acl.toml to check")
    purpose = "check an access list; nothing is started"
    command(commands, "check", purpose, _CHECK, output.check, acl)
    under(commands, "Other machines")


def run(args: argparse.Namespace) -> int:
    """Run or cancel; pass the command's streams and exit code through."""
    if (args.cancel is None) == (not args.argv):
        return fail("give either -- ARGV… or --cancel ID; see --help", "sayso exec")
    agent_id = contacts.agent_id(args.agent)
    params = _params(agent_id, args)
    with Client(socket_path()) as client:
        if args.cancel is not None:
            return output.cancel(client, agent_id, args)
        answer = client.call("exec.remote.run", params)
        return output.ended(client, answer, as_json=args.json)


def _params(agent_id: str, args: argparse.Namespace) -> "dict[str, object]":
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
