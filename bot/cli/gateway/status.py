"""Offer `sayso status`: the gateway, its channels, what waits and what runs, on one screen."""

import argparse
import sys
import time

from bot.cli.call import GREEN, RED, YELLOW, paint, print_json
from bot.cli.listings import moment, table, time_left
from bot.cli.parser import command, under
from bot.cli.paths import socket_path
from bot.client import Client

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from bot.cli.parser import Commands

    Row = Mapping[str, Any]

_PATIENCE_S = 10.0
_SHOWN = 5
_WIDTH = 60
_CHANNEL = "channel "


def register(commands: "Commands") -> None:
    """Add the command to the parser."""
    purpose = "show the gateway, its channels, what waits and what runs"
    command(commands, "status", purpose, "sayso status --json | jq .waiting", status)
    under(commands, "The gateway")


def status(args: argparse.Namespace) -> int:
    """Print one screen; exit 1 if no gateway runs or a part of it fails."""
    from core.errors import GatewayUnreachable, Unanswered  # noqa: PLC0415 - 4 ms

    try:
        with Client(socket_path()) as client:
            found = _asked(client)
    except (GatewayUnreachable, Unanswered) as failure:
        found = _stopped(str(failure))
    if args.json:
        print_json(found)
    else:
        sys.stdout.write(_screen(found))
    return 0 if found["ok"] else 1


def _asked(client: Client) -> "dict[str, Any]":
    health = client.call("health.get", {}, _PATIENCE_S)
    running = {"state": "started", "limit": 100}
    parts: dict[str, Row] = health["parts"]
    proofs: dict[str, Row] = health.get("gateProofs", {})
    return {
        "running": True,
        "ok": health["ok"],
        "pid": health["pid"],
        "socket": socket_path(),
        "channels": {
            name.removeprefix(_CHANNEL): part
            for name, part in parts.items()
            if name.startswith(_CHANNEL)
        },
        "failing": {name: part["detail"] for name, part in parts.items() if not part["ok"]},
        "waiting": _listed(client, "exec.approval.list", {"limit": 1000}, "pending"),
        "started": _listed(client, "history.list", running, "history"),
        "lockdown": health.get("lockdown"),
        "proofs": proofs,
        "nodes": health.get("nodes", {}),
    }


def _listed(client: Client, method: str, params: "Row", key: str) -> "list[Row] | None":
    """Return what the store holds; ``None`` while it cannot be read, which health reports."""
    from core.errors import StoreError  # noqa: PLC0415 - 4 ms

    try:
        rows: list[Row] = client.call(method, dict(params), _PATIENCE_S)[key]
    except StoreError:
        return None
    return rows


def _stopped(why: str) -> "dict[str, Any]":
    """Return what is known without a gateway: why, and whether the next one will start locked."""
    from bot.cli.lockdown import by_file  # noqa: PLC0415 - for this case only

    locked = by_file()
    lockdown = locked if locked["locked"] else None
    return {"running": False, "ok": False, "why": why, "lockdown": lockdown}


def _screen(found: "Row") -> str:
    locked = found["lockdown"]
    lockdown = (
        paint(f"on since {moment(locked['sinceMs'])} by {locked['by']}: {locked['why']}", RED)
        if locked
        else "off"
    )
    if not found["running"]:
        gateway = paint("not running", RED) + f"\n{found['why']}"
        return table({"gateway": gateway, "lockdown": lockdown})
    channels = "\n".join(_channel(name, part) for name, part in found["channels"].items())
    other = {name: why for name, why in found["failing"].items() if not name.startswith(_CHANNEL)}
    state = paint("running", GREEN) if found["ok"] else paint("running, with failures", RED)
    return table(
        {
            "gateway": f"{state}, pid {found['pid']}, {found['socket']}",
            "failing": "\n".join(f"{name}: {why}" for name, why in other.items()),
            "channels": channels or "no chats; answer in a terminal, as by `sayso approve`",
            "waiting": _some(found["waiting"], _waiting, "sayso pending")
            + _answer(found["waiting"]),
            "running": _some(found["started"], _running, "sayso history --state running"),
            **({"nodes": _nodes(found["nodes"])} if found["nodes"] else {}),
            "lockdown": lockdown,
            "last proof": _proof(found["proofs"]),
        }
    )


def _channel(name: str, part: "Row") -> str:
    return f"{paint('ok', GREEN) if part['ok'] else paint('fail', RED)}  {name}: {part['detail']}"


def _nodes(rows: "Mapping[str, Row]") -> str:
    return "\n".join(f"{name}: {_node(row)}" for name, row in rows.items())


def _node(row: "Row") -> str:
    if row["connected"]:
        return f"{paint('connected', GREEN)}, {row['running']} running"
    seen = f"last seen {moment(row['seenMs'])}" if row["seenMs"] else "never seen"
    return f"{paint('away', YELLOW)}, {seen}"


def _some(rows: "list[Row] | None", worded: "Callable[[Row], str]", more: str) -> str:
    """Format how many there are, and the first of them."""
    if rows is None:
        return "unknown: the store cannot be read"
    left = len(rows) - _SHOWN
    lines = [str(len(rows) or "nothing"), *map(worded, rows[:_SHOWN])]
    return "\n".join([*lines, *([f"and {left} more; see `{more}`"] if left > 0 else [])])


def _waiting(row: "Row") -> str:
    return (
        f"{paint(row['code'], YELLOW)}  {row['agent']}  {time_left(row)}  {_line(row['command'])}"
    )


def _answer(rows: "list[Row] | None") -> str:
    """Return the line to type to answer the first question, if there is one."""
    if not rows:
        return ""
    code = rows[0]["code"]
    return f"\nAnswer: sayso approve {code} allow-once, or: sayso deny {code}"


def _running(row: "Row") -> str:
    for_s = max(0, round(time.time() - row["atMs"] / 1000))
    return f"{row['code']}  {row['agent']}  asked {for_s}s ago  {_line(row['command'])}"


def _line(text: str) -> str:
    first = text.partition("\n")[0]
    return text if text == first and len(text) <= _WIDTH else f"{first[:_WIDTH]}…"


def _proof(proofs: "Mapping[str, Row]") -> str:
    if not proofs:
        return "none yet"
    bad = [name for name, one in proofs.items() if one["state"] != "held"]
    ago_s = max(0, round(time.time() - min(one["atMs"] for one in proofs.values()) / 1000))
    held = f"{len(proofs) - len(bad)} of {len(proofs)} entry points held, {ago_s} s ago"
    return held + (f"; not {', '.join(bad)}" if bad else "")
