"""Offer the commands that are one call to the gateway each, as a table."""

import argparse
import sys

from bot.cli import listings
from bot.cli.arg_types import count, span
from bot.cli.call import Call, finish, print_json
from bot.cli.parser import arg, command, group, meant, under
from bot.cli.paths import socket_path
from bot.client import Client

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bot.cli.parser import Argument, Commands

_ID = arg("id", metavar="ID", help="id, code or unique prefix")
_NOTE = arg("--note", default="", metavar="WORDS", help="the reason, shown to the agent")
_WHO = arg("who", metavar="WHO", help="a person, or one account")
_ALIASES = {
    "allow-once": "allow-once",
    "allow": "allow-once",
    "once": "allow-once",
    "allow-always": "allow-always",
    "always": "allow-always",
    "deny": "deny",
    "reject": "deny",
    "block": "deny",
}
_SCOPES = ("request", "approve", "admin", "read")
_MOST_SESSIONS = 1_000
_SHORTEST_S, _LONGEST_S = 60, 10 * 366 * 86_400
"""What the gateway accepts (``bot.intake.methods.tokens``)."""
_APPROVE = """\
sayso approve K3F7QZ allow-once
sayso approve K3F7QZ 30m
sayso approve K3F7QZ deny --note 'wrong branch'
"""
_DRAIN = """\
sayso events drain main              what the session has not acknowledged
sayso events drain main --ack 17     acknowledge up to 17, then print what is left
"""
_CREATE = """\
sayso token create ci --scope request --agent ci --expires 30d
sayso token create ana-laptop --scope approve --scope read --person ana
TOKEN=$(sayso token create dashboard --scope read)     the token alone is on standard output
"""
_LOGIN = """\
sayso login                       a link for the only person there is
sayso login --person ana
sayso login --person ana --admin  may also change exec-approvals.json
"""


def register(commands: "Commands") -> None:
    """Add the commands to the parser."""
    _add_questions(commands)
    inner = group(commands, "events", "read a session's events")
    command(
        inner,
        "drain",
        "print events that are not acknowledged",
        _DRAIN,
        drain,
        arg("session", metavar="SESSION", help="the session's key"),
        arg("--ack", type=int, metavar="N", help="acknowledge up to N first"),
        arg("--limit", type=count, default=100, help="events at most (default: 100)"),
        json="print one JSON object per line",
    )
    under(commands, "Requests")
    _add_people(commands)
    _add_grants(commands)
    _add_tokens(commands)
    _add_login(commands)
    under(commands, "People and what they allowed")


def _add_questions(commands: "Commands") -> None:
    command(
        commands,
        "pending",
        "list pending approvals",
        "sayso pending --json",
        Call("exec.approval.list", "limit", listings.pending, rows="pending"),
        arg("--limit", type=count, default=100, help="rows at most (default: 100)"),
    )
    decision = (
        "allow-once, allow-always or deny; or a limit of allow-always: 30m, 2h, 7d, 5x, session,"
        " task"
    )
    command(
        commands,
        "approve",
        "answer a pending approval",
        _APPROVE,
        answer,
        _ID,
        arg("decision", metavar="DECISION", help=decision),
        arg("limit", metavar="LIMIT", nargs="?", help="limit of allow-always, such as 30m"),
        arg("--totp", metavar="CODE", default="", help="code of your authenticator app"),
        _NOTE,
    )
    example = "sayso deny K3F7QZ --note 'wrong branch'"
    parser = command(commands, "deny", "deny a pending approval", example, answer, _ID, _NOTE)
    parser.set_defaults(decision="deny", limit=None, totp="")
    example = "sayso cancel K3F7QZ"
    purpose = "cancel a pending approval or a running command"
    command(commands, "cancel", purpose, example, Call("exec.cancel", "id", done="cancelled"), _ID)


def answer(args: argparse.Namespace) -> int:
    """Answer a question; exit 3 if the answer did not count.

    Raises:
        NotFound: the id matches no approval, or several.
    """
    params = {"id": args.id, "note": args.note, **_decision(args.decision.lower(), args.limit)}
    if args.totp:
        params["totp"] = args.totp
    with Client(socket_path()) as client:
        answered = client.call("exec.approval.resolve", params)
    if answered["outcome"] in {"unknown", "ambiguous"}:
        from core.errors import NotFound  # noqa: PLC0415 - 4 ms that only a mistake needs

        raise NotFound(answered["sentence"])
    return finish(args, answered, done="accepted")


def _decision(word: str, limit: str | None) -> dict[str, str]:
    """Parse the words as chats do: a limit alone is an allow-always with that limit.

    Raises:
        BadRequest: two words, and the first is not a decision.
    """
    if word in _ALIASES:
        return {"decision": _ALIASES[word]} | ({"limit": limit} if limit else {})
    if limit is None:
        return {"decision": "allow-always", "limit": word}
    from core.errors import BadRequest  # noqa: PLC0415 - 4 ms that only a mistake needs

    raise BadRequest(f"{word!a} is not a decision. Use allow-once, allow-always or deny.")


def _add_people(commands: "Commands") -> None:
    listed = Call("people.list", "", listings.people, rows="people")
    inner = group(commands, "people", "link people's accounts, revoke people", bare=listed)
    command(inner, "list", "print people and their accounts", "sayso people list --json", listed)
    account = arg("account", metavar="CHANNEL:ACCOUNT", help="such as telegram:1001")
    name = arg(
        "name", metavar="NAME", help="1 to 32 lowercase letters, digits, dashes, underscores"
    )
    both = "sayso people revoke ana\nsayso people revoke telegram:1001"
    for action, purpose, example, given in (
        ("add", "add a person", "sayso people add ana", name),
        ("pair", "show a code to link an account", "sayso people pair ana", name),
        (
            "unlink",
            "unlink an account from its person",
            "sayso people unlink telegram:1001",
            account,
        ),
        ("revoke", "revoke a person's or an account's right to approve", both, _WHO),
        ("restore", "restore a revoked right to approve", "sayso people restore ana", _WHO),
    ):
        call = Call(f"people.{action}", given[0][0])
        command(inner, action, purpose, example, call, given)
    _add_proofs(inner, name)


def _add_proofs(inner: "Commands", name: "Argument") -> None:
    """Add the options by which a person proves a step-up."""
    purpose = "remove a person's authenticator app"
    forget = Call("people.forgetTotp", "name")
    command(inner, "forget-totp", purpose, "sayso people forget-totp ana", forget, name)
    key = arg("id", metavar="ID", help="the passkey's id, as `sayso people passkeys` prints it")
    example = "sayso people forget-passkey 3q2-7w…"
    forget = Call("people.forgetPasskey", "id")
    command(inner, "forget-passkey", "remove a passkey", example, forget, key)
    passkeys = Call("people.passkeys", "", listings.passkeys, rows="passkeys")
    command(inner, "passkeys", "list passkeys", "sayso people passkeys --json", passkeys)
    purpose = (
        "enrol an authenticator app, whose codes step-up answers need; the secret is shown once"
    )
    call = Call("people.totp", "name", _enrolled)
    command(inner, "totp", purpose, "sayso people totp ana", call, name)


def _enrolled(made: "Mapping[str, Any]") -> str:
    """Return only what the app reads, for standard output."""
    sys.stderr.write(f"{made['sentence']}\n")
    return f"{made['uri']}\n"


def _add_grants(commands: "Commands") -> None:
    listed = Call("grants.list", "", listings.grants, rows="grants")
    inner = group(commands, "grants", "list and revoke temporary grants", bare=listed)
    command(inner, "list", "list active grants", "sayso grants list --json", listed)
    code = arg("id", metavar="ID", help="the grant's code or id")
    example = "sayso grants revoke 7K3F9Q"
    command(inner, "revoke", "revoke a grant", example, Call("grants.revoke", "id"), code)
    inner = group(commands, "task", "revoke a task's grants")
    command(
        inner,
        "end",
        "revoke every grant of a task",
        "sayso task end fix-login",
        Call("tasks.end", "task agent"),
        arg("task", metavar="NAME", help="the task, as `sayso run --task` names it"),
        arg("--agent", metavar="A", help="only this agent's"),
    )


def _add_tokens(commands: "Commands") -> None:
    listed = Call("token.list", "", listings.tokens, rows="tokens")
    inner = group(commands, "token", "manage API tokens", bare=listed)
    lasts = "lifetime, such as 12h or 30d; at least 60s (default: until revoked)"
    scopes = "what it may do; repeat for several"
    parser = command(
        inner,
        "create",
        "create a token; it is shown only once",
        _CREATE,
        Call("token.create", "name scopes agent person expiresS", _created),
        arg("name", metavar="NAME", help="what it is for"),
        arg("--scope", dest="scopes", action="append", required=True, choices=_SCOPES, help=scopes),
        arg("--expires", dest="expiresS", type=_seconds, metavar="TIME", help=lasts),
    )
    whose = parser.add_mutually_exclusive_group()
    whose.add_argument("--agent", metavar="A", help="the agent that asks with it")
    whose.add_argument("--person", metavar="P", help="the person who approves with it")
    example = "sayso token list --json"
    command(inner, "list", "list the tokens, without their values", example, listed)
    name = arg("token", metavar="TOKEN", help="its name or id")
    example = "sayso token revoke ci"
    revoke = Call("token.revoke", "token")
    command(inner, "revoke", "revoke a token permanently", example, revoke, name)


def _created(made: "Mapping[str, Any]") -> str:
    """Return only the token, for standard output; standard error says what to do with it."""
    sys.stderr.write(f"{made['sentence']}\n")
    return f"{made['token']}\n"


def _add_login(commands: "Commands") -> None:
    command(
        commands,
        "login",
        "create a one-time link to the control page",
        _LOGIN,
        Call("page.login", "person admin", _link),
        arg("--person", metavar="P", help="who signs in (default: the only person)"),
        arg("--admin", action="store_true", help="the session may also change rules"),
    )


def _link(made: "Mapping[str, Any]") -> str:
    """Return only the link, for standard output; standard error says what to do with it."""
    sys.stderr.write(f"{made['sentence']}\n")
    return f"{made['url']}\n"


def _seconds(text: str) -> int:
    seconds = span(text)
    if not _SHORTEST_S <= seconds <= _LONGEST_S:
        raise argparse.ArgumentTypeError(f"{text!r}: a token lasts from 60s to 10 years")
    return seconds


def drain(args: argparse.Namespace) -> int:
    """Print a session's events in order; they are repeated until they are acknowledged.

    Raises:
        NotFound: no such session exists.
    """
    with Client(socket_path()) as client:
        if args.ack is not None:
            client.call("events.ack", {"session": args.session, "seq": args.ack})
        found = client.call("events.drain", {"session": args.session, "limit": args.limit})
        if not found["events"]:
            _must_be_known(client, args.session)
    for event in found["events"]:
        if args.json:
            print_json(event, indent=None)
        else:
            sys.stdout.write(f"{event['seq']:>6}  {event['text']}\n")
    return 0


def _must_be_known(client: Client, session: str) -> None:
    """Refuse the name of an unknown session: it has no events, and no request named it.

    Raises:
        NotFound: no such session exists; the message has the most similar name.
    """
    listed = client.call("sessions.list", {"limit": _MOST_SESSIONS})["sessions"]
    asked = client.call("history.list", {"limit": _MOST_SESSIONS})["history"]
    known = dict.fromkeys(str(row["session"]) for row in (*listed, *asked))
    if session in known:
        return
    from core.errors import NotFound  # noqa: PLC0415 - 4 ms that only a mistake needs

    hint = meant(session, known) or "; `sayso history --json` shows the session of each request"
    raise NotFound(f"No request has named the session {session!a}{hint}")
