"""List people, tokens, grants, channels, rules and sessions, with what may be done to each.

Everything is read and done by the methods, with their scopes. Before something is taken away, a
page that works without scripts asks for confirmation.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from starlette.responses import Response

from bot.api.http.errors import Fault, FaultCode
from bot.intake.callers.caller import Caller
from bot.intake.registry.method import Table, invoke
from bot.page.records.list_actions import ACTIONS, Action, Button
from bot.page.render import Renderer
from bot.page.visit import Fields, Visit, page, refuse_others
from core.errors import BadRequest
from core.model.decision import Tier

_MOST = 500
_LONGEST_FIELD = 200


@dataclass(frozen=True, slots=True)
class Row:
    """One entry of a list: its name, its marks, what is known about it, and its buttons."""

    title: str
    marks: tuple[str, ...] = ()
    times: tuple[tuple[str, int], ...] = ()
    lines: tuple[str, ...] = ()
    buttons: tuple[Button, ...] = ()
    link: str = ""


Rows = Sequence[Row]
Reads = Callable[[Table, Caller], Awaitable[Rows]]


async def _people(table: Table, caller: Caller) -> Rows:
    found: Any = await invoke(table["people.list"], {}, caller)
    return [_person(one) for one in found["people"]]


def _person(one: Mapping[str, Any]) -> Row:
    accounts = [
        f"{own['channel']}:{own['account']} {own['name']}".strip()
        + (", revoked" if own["revoked"] else "")
        for own in one["accounts"]
    ]
    name = one["id"]
    again = Button("restore-person", (("who", name),)) if one["revoked"] else None
    gone = Button("revoke-person", (("who", name),)) if not one["revoked"] else None
    unlink = [
        Button("unlink-account", (("account", f"{own['channel']}:{own['account']}"),))
        for own in one["accounts"]
    ]
    own = Button("pair-person", (("name", name),))
    buttons = (own, *unlink, *(found for found in (again, gone) if found is not None))
    marks = ("revoked",) if one["revoked"] else ()
    return Row(name, marks, (), tuple(accounts) or ("no account is linked",), buttons)


async def _tokens(table: Table, caller: Caller) -> Rows:
    found: Any = await invoke(table["token.list"], {}, caller)
    return [_token(one) for one in found["tokens"]]


def _token(one: Mapping[str, Any]) -> Row:
    whose = [f"{what} {one[what]}" for what in ("agent", "person") if one[what]]
    times = [("created", one["createdMs"]), ("last used", one["usedMs"])]
    times.append(("until", one["expiresMs"]))
    lines = (f"may {', '.join(one['scopes'])}", *whose, f"made by {one['by']}")
    live = one["state"] not in {"revoked", "expired"}
    return Row(
        one["browser"] or one["name"],
        (str(one["state"]), *(("page session",) if one["browser"] else ())),
        tuple((word, at) for word, at in times if at),
        lines,
        (Button("revoke-token", (("token", one["id"]),)),) if live else (),
    )


async def _grants(table: Table, caller: Caller) -> Rows:
    found: Any = await invoke(table["grants.list"], {}, caller)
    rows: list[Row] = []
    for one in found["grants"]:
        ends = [("given", one["createdMs"]), ("last used", one["usedMs"])]
        ends.append(("until", one["expiresMs"]))
        left = [] if one["usesLeft"] is None else [f"{one['usesLeft']} uses left"]
        where = [f"{what} {one[what]}" for what in ("session", "task") if one[what]]
        seen = [one["preview"]["sentence"]] if one["preview"] else []
        buttons = [Button("revoke-grant", (("id", one["id"]),))]
        if one["task"]:
            buttons.append(Button("end-task", (("task", one["task"]), ("agent", one["agent"]))))
        lines = (*one["promise"], *where, *left, f"by {one['name'] or one['by']}", *seen)
        times = tuple((word, at) for word, at in ends if at)
        rows.append(Row(f"{one['agent']} · {one['code']}", (), times, lines, tuple(buttons)))
    return rows


async def _channels(table: Table, caller: Caller) -> Rows:
    found: Any = await invoke(table["health.get"], {}, caller)
    return [
        Row(name, ("works" if one["ok"] else "does not work",), (), (str(one["detail"]),))
        for name, one in sorted(found["parts"].items())
        if name.startswith("channel")
    ]


async def _rules(table: Table, caller: Caller) -> Rows:
    found: Any = await invoke(table["policy.rules"], {}, caller)
    return [_rule(one) for one in found["rules"]]


def _rule(one: Mapping[str, Any]) -> Row:
    where = [f"in {one['within']}"] if one["within"] else []
    whose = f"agent {one['agent']}" if one["agent"] else "every agent"
    tier = () if one["tier"] == Tier.ROUTINE else (str(one["tier"]),)
    why = [one["reason"]] if one["reason"] else []
    lines = (" · ".join([whose, *where, one["place"]]), *why)
    return Row(f"{one['by']} {one['pattern']}", (str(one["decide"]), *tier), (), lines)


async def _sessions(table: Table, caller: Caller) -> Rows:
    found: Any = await invoke(table["sessions.list"], {"limit": _MOST}, caller)
    rows: list[Row] = []
    for one in found["sessions"]:
        times = (("last event", one["atMs"]),) if one["atMs"] else ()
        waiting = one["lastSeq"] - one["ackedSeq"]
        lines = (f"{one['lastSeq']} events, {waiting} not acknowledged",)
        link = f"/history?{urlencode({'session': one['session']})}"
        rows.append(Row(one["session"], (), times, lines, (), link))
    return rows


@dataclass(frozen=True, slots=True)
class Listing:
    """One list: its title, how it is read, what may be added, and notes."""

    title: str
    method: str
    reads: Reads
    about: str
    adds: str = ""
    none: str = "Nothing here."
    links: tuple[tuple[str, str], ...] = ()


LISTINGS: Mapping[str, Listing] = {
    "people": Listing(
        "People",
        "people.list",
        _people,
        "Each is one human being, with their accounts. An authenticator app is "
        "enrolled by sayso people totp NAME, at a terminal, and forgotten there.",
        "add-person",
        "Nobody is listed; approvers are known by their accounts alone.",
    ),
    "tokens": Listing(
        "Tokens",
        "token.list",
        _tokens,
        "Who may call over the network. sayso token create makes one, at a terminal.",
    ),
    "grants": Listing(
        "Grants",
        "grants.list",
        _grants,
        "What people allowed for a while, and what each would have let run among the past.",
    ),
    "channels": Listing(
        "Channels",
        "health.get",
        _channels,
        "Where people are asked. sayso doctor channels proves each of them.",
        none="No chat platform is configured: people answer at terminals and on this page.",
    ),
    "rules": Listing(
        "Rules",
        "policy.rules",
        _rules,
        "What tools.exec.rules of config.json5 says of single commands; of all that match, the "
        "strictest counts. Each was checked with its examples when it was read. sayso policy test "
        "checks a change before it counts, and sayso policy backtest tries it on the past.",
        none="No rules: the allowlist of Exec approvals decides what runs without a question.",
        links=(
            ("Test a command", "/exec-approvals#try-title"),
            ("What they cost, and what would save prompts", "/insight"),
        ),
    ),
    "agent-sessions": Listing(
        "Agents' sessions",
        "sessions.list",
        _sessions,
        "What agents work on; each links to its requests.",
    ),
}


@dataclass(frozen=True, slots=True)
class ListPages:
    """The lists, and what their buttons do."""

    table: Table
    render: Renderer

    async def show(self, visit: Visit) -> Response:
        """Show one list.

        Raises:
            Fault: no such list exists.
        """
        name = visit.path("name")
        found = LISTINGS.get(name)
        if found is None:
            raise Fault(FaultCode.NOT_FOUND, "No such list.")
        rows = await found.reads(self.table, visit.who)
        text = self.render.text(
            "listing.html",
            visit=visit,
            here="lists",
            name=name,
            listing=found,
            tabs=[(one, LISTINGS[one].title) for one in LISTINGS if self._may(visit, one)],
            rows=rows[:_MOST],
            actions=ACTIONS,
            may={one: self._may_act(visit, action) for one, action in ACTIONS.items()},
        )
        return page(text)

    async def act(self, visit: Visit) -> Response:
        """Do what a button says; what takes something away must have been confirmed.

        Raises:
            Fault: no such action exists.
        """
        form = await visit.form()
        name = visit.path("action")
        action = ACTIONS.get(name)
        if action is None:
            raise Fault(FaultCode.NOT_FOUND, "No such action.")
        raw = _fields(form, action)
        if action.asks and form.get("confirm") != "yes":
            text = self.render.text(
                "confirm.html", visit=visit, here="lists", name=name, action=action, fields=raw
            )
            return page(text)
        return await self._done(visit, action, raw)

    async def _done(self, visit: Visit, action: Action, raw: Mapping[str, str]) -> Response:
        try:
            done: Any = await invoke(self.table[action.method], dict(raw), visit.who)
        except BadRequest as wrong:
            done = {"done": False, "sentence": str(wrong)}
        code = f" Code: {done['code']}" if done.get("code") else ""
        text = self.render.text(
            "acted.html",
            visit=visit,
            here="lists",
            sentence=f"{done['sentence']}{code}",
            back=action.back,
        )
        return page(text, 200 if done["done"] else 409)

    def _may(self, visit: Visit, name: str) -> bool:
        return _allowed(visit, self.table, LISTINGS[name].method)

    def _may_act(self, visit: Visit, action: Action) -> bool:
        return _allowed(visit, self.table, action.method)


def _allowed(visit: Visit, table: Table, method: str) -> bool:
    return any(visit.who.may(scope) for scope in table[method].scopes)


def _fields(form: Mapping[str, str], action: Action) -> dict[str, str]:
    """Return the params of the method.

    Raises:
        Fault: a field is missing, too long, or belongs to another action.
    """
    refuse_others(form, Fields(frozenset({*action.fields, "confirm"})), "The form")
    found = {name: form.get(name, "").strip() for name in action.fields}
    if not all(0 < len(text) <= _LONGEST_FIELD for text in found.values()):
        raise Fault(FaultCode.BAD_REQUEST, "Fill in the field; nothing was changed.")
    return found
