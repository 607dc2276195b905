"""Offer `sayso node`: other machines that take whole requests."""

import argparse
import os
import sys

from bot.cli.call import Call, print_json
from bot.cli.listings import moment
from bot.cli.parser import arg, command, group, under
from bot.cli.paths import socket_path
from bot.client import Client

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any

    from bot.cli.parser import Commands

    Row = Mapping[str, Any]

_APPROVE = """\
sayso node list                      with the codes of those that wait
sayso node approve K3F7QZ
sayso node approve K3F7QZ --name build
"""
_RUN = """\
sayso node run --gateway build.example.org:8794 --gateway-key 5d41…   the first time
sayso node run                                                        from then on
"""
_NODE = arg("id", metavar="NODE", help="its id, name, address, or 6 characters or more of its id")


def register(commands: "Commands") -> None:
    """Add the commands to the parser."""
    inner = group(commands, "node", "pair other machines, list and revoke them", bare=show)
    command(inner, "list", "list the nodes and those that wait", "sayso node list --json", show)
    command(
        inner,
        "approve",
        "pair the node that waits under a code",
        _APPROVE,
        Call("node.approve", "code name"),
        arg("code", metavar="CODE", help="the code of its request"),
        arg("--name", metavar="NAME", help="its display name (default: what it calls itself)"),
    )
    command(
        inner,
        "rename",
        "give a node another display name",
        "sayso node rename web1 build",
        Call("node.rename", "id name"),
        _NODE,
        arg("name", metavar="NAME", help="the new name"),
    )
    purpose = "print the key of this gateway, which nodes pin"
    command(inner, "key", purpose, "sayso node key", print_key)
    command(
        inner,
        "run",
        "run the node of this machine until it is stopped",
        _RUN,
        run,
        arg("--gateway", metavar="HOST:PORT", help="the gateway; needed once, then kept"),
        arg("--gateway-key", metavar="KEY", help="its key, from `sayso node key` there"),
        arg("--name", metavar="NAME", help="the display name to ask for (default: host name)"),
        json="log one JSON object per line",
    )
    _add_service(inner)
    purpose = "revoke a node: it takes no commands until it is paired again"
    revoke = Call("node.revoke", "id")
    command(inner, "revoke", purpose, "sayso node revoke build", revoke, _NODE)
    under(commands, "Other machines")


def _add_service(inner: "Commands") -> None:
    """Add the commands that `sayso service` has for a gateway, and services of other systems."""
    from bot.cli.gateway.service import add_commands  # noqa: PLC0415 - for this command alone

    add_commands(inner, "node", "node")
    purpose = "print the service of a node for another system; install it there by hand"
    command(
        inner,
        "service",
        purpose,
        "sayso node service launchd > ~/Library/LaunchAgents/sayso.node.plist",
        print_service,
        arg("platform", choices=("launchd", "windows"), help="whose service it is"),
        arg("--program", metavar="P", help="the path of sayso there (default: that of this one)"),
        arg("--home", metavar="D", help="$SAYSO_HOME there (default: none is set)"),
        json="print a JSON object with the text",
    )


def print_service(args: argparse.Namespace) -> int:
    """Print a launchd property list or a Windows service definition; write nothing.

    Raises:
        StateError: no program was named, and none was found here.
    """
    from pathlib import PurePosixPath, PureWindowsPath  # noqa: PLC0415 - only here

    from bot.service.install import program  # noqa: PLC0415 - slow to import
    from bot.service.other_systems import NodeService  # noqa: PLC0415 - the same

    kind = PureWindowsPath if args.platform == "windows" else PurePosixPath
    path = kind(args.program or program(os.environ))
    service = NodeService(path, None if args.home is None else kind(args.home))
    text = service.windows() if args.platform == "windows" else service.launchd()
    if args.json:
        return print_json({"system": args.platform, "text": text})
    sys.stdout.write(text)
    return 0


def show(args: argparse.Namespace) -> int:
    """Print the nodes, and those that wait to be paired."""
    with Client(socket_path()) as client:
        found = client.call("node.list", {})
    if args.json:
        return print_json(found)
    sys.stdout.write(listing(found))
    return 0


def listing(found: "Row") -> str:
    """Return as text what ``node.list`` returned."""
    lines = [*map(_node, found["nodes"]), *map(_request, found["requests"])]
    return "".join(lines) or "No nodes are paired, and none is waiting.\n"


def print_key(args: argparse.Namespace) -> int:
    """Print the key that nodes pin; it is created if there is none.

    Raises:
        StateError: the home or its key cannot be used.
    """
    from bot.settings import ensure_home, home_folder  # noqa: PLC0415 - slow to import
    from core.trust.identity import Identity  # noqa: PLC0415 - slow to import

    home = home_folder(None, os.environ)
    ensure_home(home)
    key = Identity.load(home).agent_id
    if args.json:
        return print_json({"key": key}, indent=None)
    sys.stdout.write(f"{key}\n")
    return 0


def run(args: argparse.Namespace) -> int:
    """Run this machine's node in this process until SIGTERM or SIGINT.

    Raises:
        BadRequest: the home belongs to no gateway, and none was named.
        SaysoError: a part of the node cannot be used.
    """
    import asyncio  # noqa: PLC0415 - heavy; the other commands start without it
    import socket  # noqa: PLC0415 - the same

    from bot.settings import ensure_home, home_folder  # noqa: PLC0415 - slow to import
    from bot.wiring.logs import configure  # noqa: PLC0415 - slow to import
    from core.errors import BadRequest  # noqa: PLC0415 - slow to import
    from core.nodes.node_file import begin, required  # noqa: PLC0415 - slow to import

    home = home_folder(None, os.environ)
    ensure_home(home)
    if (args.gateway is None) != (args.gateway_key is None):
        raise BadRequest("Give both --gateway and --gateway-key, or neither.")
    if args.gateway is not None:
        begin(home, args.name or socket.gethostname(), args.gateway, args.gateway_key)
    required(home)
    configure(json_lines=args.json)
    asyncio.run(_serve(home))
    return 0


async def _serve(home: "Path") -> None:
    import asyncio  # noqa: PLC0415 - heavy
    import signal  # noqa: PLC0415 - heavy

    from bot.node.app import node  # noqa: PLC0415 - heavy
    from bot.service.notify import Notifier  # noqa: PLC0415 - heavy

    notifier, stop = Notifier.take(os.environ), asyncio.Event()

    def say(words: str) -> None:
        sys.stderr.write(f"sayso: {words}\n")
        sys.stderr.flush()
        notifier.status(words)

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with node(home, say) as member:
        task = asyncio.create_task(member.run())
        notifier.ready()
        await stop.wait()
        notifier.stopping()
    # The runs have ended and were delivered; connections may be closed now.
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def _node(row: "Row") -> str:
    return f"{row['name']}  {row['address']}  {row['words']}  {_seen(row)}\n  {row['id']}\n"


def _seen(row: "Row") -> str:
    if row["connected"]:
        runs = f", {row['running']} running" if row["running"] else ""
        return f"connected since {moment(row['sinceMs'])}{runs}"
    return f"last seen {moment(row['seenMs'])}" if row["seenMs"] else "never connected"


def _request(row: "Row") -> str:
    like = row["looksLike"]
    caution = f"  its name looks like that of the node {like}, another machine\n" if like else ""
    return (
        f"{row['name']}  {row['address']}  {row['words']}  waits until {moment(row['expiresMs'])}\n"
        f"  {row['id']}\n{caution}  allow: sayso node approve {row['code']}\n"
    )
