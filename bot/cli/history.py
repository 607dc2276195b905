"""Offer `sayso history` and `sayso show`: what was asked and how it ended, even offline."""

import argparse
import os
import time

from bot.cli import remark
from bot.cli.arg_types import count, span
from bot.cli.call import show as printed
from bot.cli.listings import how_to_answer, indented, moment, one_line, programs, table, time_left
from bot.cli.parser import arg, command, under
from bot.cli.paths import socket_path
from bot.client import Client

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, TypeVar

    from bot.cli.parser import Commands

    Row = Mapping[str, Any]
    T = TypeVar("T")

_EXAMPLES = """\
sayso history --limit 20
sayso history --agent coder --state denied --since 7d
sayso history --grep 'git push' --json
"""
_STATES = {"running": "started", "finished": "done"} | {
    state: state
    for state in ("pending", "allowed", "denied", "expired", "cancelled", "failed", "unknown")
}
"""The names of states: people's, and the gateway's."""
_HASH_SHOWN = 12
_DECIDED = {"allow-once": "allowed once", "allow-always": "allowed always", "deny": "denied"}


def register(commands: "Commands") -> None:
    """Add the commands to the parser."""
    command(
        commands,
        "history",
        "list past requests, also while no gateway is running",
        _EXAMPLES,
        history,
        arg("--limit", type=count, default=50, help="rows at most (default: 50)"),
        arg("--agent", metavar="A", help="only this agent's"),
        arg("--state", choices=(*_STATES,), help="only those that are in this state"),
        arg("--since", type=_since, metavar="DURATION", help="only the last 30m, 12h, 7d, 4w"),
        arg("--grep", metavar="TEXT", help="only commands with this text, ignoring case"),
    )
    purpose = "show one request: what was asked, why, and how it ended"
    identity = arg("id", metavar="ID", help="id, code or unique prefix")
    command(commands, "show", purpose, "sayso show K3F7QZ", show, identity)
    under(commands, "Requests")


def _since(text: str) -> int:
    return max(0, round((time.time() - span(text)) * 1000))


def history(args: argparse.Namespace) -> int:
    """Print what was asked and how it ended, newest first."""
    given = {
        "limit": args.limit,
        "agent": args.agent,
        "state": _STATES.get(args.state),
        "sinceMs": args.since,
        "grep": args.grep,
    }
    params = {key: value for key, value in given.items() if value is not None}
    rows = _answered(lambda client: _found(client, params, args.limit))
    if rows is None:
        rows = _offline(args, _stored_history(args))
    return printed(args, rows, lambda rows: "".join(map(_line, rows)) or nothing(params))


def nothing(filters: "Mapping[str, object]") -> str:
    """Say that no request is listed: none of those that were looked for, or none at all."""
    return "No such requests.\n" if filters.keys() - {"limit"} else "No requests yet.\n"


def _found(client: Client, params: "Mapping[str, object]", limit: int) -> "list[Row]":
    """Search until enough is found or nothing older is left; one call reads 10,000 rows."""
    answer = client.call("history.list", params)
    rows = list(answer["history"])
    while len(rows) < limit and answer.get("lookedBackToMs") is not None:
        older = {"beforeMs": answer["lookedBackToMs"], "limit": limit - len(rows)}
        answer = client.call("history.list", {**params, **older})
        rows += answer["history"]
    return rows


def _answered(ask: "Callable[[Client], T]") -> "T | None":
    """Return the gateway's answer; ``None`` if none runs and its store is to be read.

    Raises:
        SaysoError: the gateway refused, or none runs and no store exists either.
    """
    from core.errors import ConfigError, GatewayUnreachable, Unanswered  # noqa: PLC0415 - see bot.cli.paths

    try:
        with Client(socket_path()) as client:
            return ask(client)
    except (GatewayUnreachable, Unanswered) as failure:
        try:
            there = _store_url().partition("://")[0] != "sqlite" or _has_file(_store_url())
        except ConfigError:
            raise failure from None
        if not there:
            raise
    return None


def _offline(args: argparse.Namespace, rows: "list[Row]") -> "list[Row]":
    """Note that the store was read: in each row with --json, else on standard error."""
    if args.json:
        return [{**row, "offline": True} for row in rows]
    remark("note", "no gateway is running; this is what its store holds")
    return rows


def _store_url() -> str:
    from bot.settings import load  # noqa: PLC0415 - slow to import

    return load(environ=os.environ).store_url


def _has_file(url: str) -> bool:
    return os.path.exists("/" + url.removeprefix("sqlite:///").lstrip("/"))  # noqa: PTH110 - see bot.cli.paths


def _stored_history(args: argparse.Namespace) -> "list[Row]":
    from bot.intake.methods.history import wanted  # noqa: PLC0415 - slow to import
    from bot.intake.results.records import HistoryRowAnswer  # noqa: PLC0415 - the same
    from core.store.approvals import Narrowing, search  # noqa: PLC0415 - the same
    from core.store.engine.read_only import open_and_read  # noqa: PLC0415 - the same

    keep = wanted(_STATES.get(args.state), args.grep)
    span = (args.limit, None, args.agent, args.since)
    narrowing = Narrowing(state=_STATES.get(args.state), words=args.grep)
    found = open_and_read(_store_url(), search, keep, *span, narrowing, bounded=False)
    return [HistoryRowAnswer.of(row).as_json() for row in found]


def _line(row: "Row") -> str:
    task = f"  task {row['task']}" if row.get("task") else ""
    head = f"{moment(row['atMs'])}  {row['code']}  {row['agent']}{task}  {row['how']}"
    return f"{head}{_decided(row, '; ')}\n    {one_line(row['command'], 4)}\n"


def _decided(row: "Row", before: str = "") -> str:
    """Format who allowed or denied it, and for how long; empty if policy alone decided."""
    if row["by"] is None:
        return ""
    limits = f" {row['terms']}" if row["terms"] else ""
    word = "allowed" if limits else _DECIDED.get(row["decision"] or "", "decided")
    return f"{before}{word}{limits} by {row['by']}"


def show(args: argparse.Namespace) -> int:
    """Print one request in full.

    Raises:
        NotFound: the id matches none, or several.
    """
    found = _answered(lambda client: _asked(client, args.id))
    if found is None:
        (found,) = _offline(args, [_stored(args.id)])
    return printed(args, found, _whole)


def _asked(client: Client, ref: str) -> "Row":
    from core.errors import NotFound  # noqa: PLC0415 - 4 ms that most commands need not pay

    row = _only(ref, client.call("history.list", {"id": ref})["history"])
    params: dict[str, object] = {"id": row["id"]}
    try:
        asked = client.call("exec.approval.get", params)
    except NotFound:  # nobody was asked
        return {**row, "approval": None, "copies": [], "evidence": None}
    copies = client.call("exec.approval.copies", params)["copies"]
    evidence = client.call("exec.approval.evidence", params)
    return {**row, "approval": asked, "copies": copies, "evidence": evidence}


def _stored(ref: str) -> "Row":
    from bot.intake.results.questions import (  # noqa: PLC0415 - slow to import
        ApprovalAnswer,
        CopyAnswer,
        EvidenceAnswer,
    )
    from bot.intake.results.records import HistoryRowAnswer  # noqa: PLC0415 - the same
    from core.model.identity import ApprovalId  # noqa: PLC0415 - the same
    from core.store import approvals  # noqa: PLC0415 - the same
    from core.store.engine.read_only import open_and_read  # noqa: PLC0415 - the same
    from core.store.outbox.receipts import receipts  # noqa: PLC0415 - the same
    from core.store.views import references  # noqa: PLC0415 - the same
    from core.store.views.evidence import evidence_of  # noqa: PLC0415 - the same

    url = _store_url()
    row = _only(
        ref,
        [HistoryRowAnswer.of(one).as_json() for one in open_and_read(url, references.past, ref)],
    )
    run_id = ApprovalId(row["id"])
    asked = open_and_read(url, approvals.get, run_id)
    copies = [CopyAnswer.of(one).as_json() for one in open_and_read(url, receipts, run_id)]
    evidence = EvidenceAnswer.of(open_and_read(url, evidence_of, run_id)).as_json()
    return {
        **row,
        "approval": asked and ApprovalAnswer.of(asked).as_json(),
        "copies": copies,
        "evidence": evidence if asked else None,
    }


def _only(ref: str, rows: "Sequence[Row]") -> "Row":
    if len(rows) == 1:
        return rows[0]
    from core.errors import NotFound  # noqa: PLC0415 - for mistakes only
    from core.store.approvals.queries import SHORTEST_PREFIX  # noqa: PLC0415 - the same

    why = f"No request has the id or code {ref!r}; see `sayso history`."
    if rows:
        why = f"{ref!r} matches {len(rows)} requests; give more of the id."
    elif len(ref) < SHORTEST_PREFIX:
        why = f"{ref!r} is too short; give the code or at least {SHORTEST_PREFIX} characters."
    raise NotFound(why)


def _whole(row: "Row") -> str:
    asked: Row = row["approval"] or {}
    where = (f"{one['channel']} {one['to']} ({one['state']})" for one in row["copies"])
    promise = "; ".join(asked.get("promise", ())) if row["state"] == "pending" else ""
    facts = {
        "asked": f"{moment(row['atMs'])} for agent {row['agent']}, session {row['session']}",
        "task": row["task"],
        "by": asked.get("requester"),
        "in": asked.get("cwd"),
        "host": _where(asked),
        "programs": "\n".join(programs(asked)) if asked else None,
        "security": asked.get("security"),
        "ask": asked.get("ask"),
        "why": asked.get("why"),
        "tier": asked.get("tier"),
        "warning": asked.get("warning"),
        "also": "\n".join(asked.get("also", ())),
        "variables": ", ".join(asked.get("env", ())),
        "sent to": "\n".join(where),
        "shown to": "\n".join(_shown(row)),
        "decision": _decided(row) or (None if asked else "by policy alone; nobody was asked"),
        "note": asked.get("note"),
        "quorum": _quorum(asked),
        "always": f"would store {promise}" if promise else None,
        "id": row["id"],
        "digest": asked.get("digest"),
    }
    head, tail = f"{row['code']}  {row['how']}", ""
    if row["state"] == "pending":
        head, tail = f"{head}, {time_left(asked)}", f"\n{how_to_answer(row['code'])}\n"
    return f"{head}\n{indented(row['command'])}\n{table(facts)}{tail}"


def _shown(row: "Row") -> "Iterator[str]":
    """Format who looked, when and at what, and how long the person who decided had it."""
    evidence: Row = row["evidence"] or {"shown": (), "tookMs": None}
    for one in evidence["shown"]:
        who = one["by"] or f"{one['channel']} {one['place']}".strip()
        kept = f" SHA-256 {one['sha256'][:_HASH_SHOWN]}…" if one["sha256"] else ""
        late = "" if one["beforeDecision"] else ", after it was decided"
        yield f"{who} ({one['surface']}) {moment(one['atMs'])}{kept}{late}"
    if evidence["tookMs"] is not None:
        yield f"decided {evidence['tookMs'] / 1000:.1f} s after it was first shown there"


def _where(asked: "Row") -> str | None:
    """Format the host, and the node by the name that people gave it."""
    host: str | None = asked.get("host")
    return f"{host} {asked['nodeName']} ({asked['node']})" if asked.get("nodeName") else host


def _quorum(asked: "Row") -> str | None:
    """Format how many people have allowed it, if one is not enough."""
    needed = asked.get("quorum", 1)
    return None if needed == 1 else f"{len(asked['votes'])} of {needed} people have allowed it"
