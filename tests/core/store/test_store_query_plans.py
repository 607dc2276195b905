"""Make a sweep cost what is due, not what was ever stored: the planner uses partial indexes."""

import importlib
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, event, select
from sqlalchemy.sql import CompoundSelect, Delete, Insert, Select, Update

import core.store
from core.model.decision import DenialReason
from core.model.evidence import Surface, View
from core.model.identity import Intake, Requester
from core.model.pending_limits import DEFAULT_LIMITS
from core.store import approvals, outbox
from core.store.approvals import grants, proofs
from core.store.engine.clock import HighWater
from core.store.engine.sqlite.disk_reserve import DiskReserve
from core.store.engine.sqlite.writer import Writer
from core.store.outbox import node_notices, showings
from core.store.outbox.message_lookup import approval_of
from core.store.people import page_links, people, tokens, totp_keys
from core.store.runs import recovery, runs
from core.store.schema.tables import session_events
from core.store.sessions import origins, overrides, threads
from core.store.views import owners, past_commands, references
from core.store.views.evidence import evidence_of
from core.store.views.insight import insight
from core.store.views.status import run_times, waiting
from tests.support.store_records import ALICE, GROUP, ONCE, draft

_NO_TABLE = r"due|edit\b|to_remind|newest|ranked|CONSTANT ROW|\(subquery"
"""What is not a table: a batch that an index chose or walked, and the empty list of ``IN ()``."""
_NO_INDEX = (
    "add an Index to core/store/schema/tables.py, with a revision that creates it: "
    "CONTRIBUTING.md, 'a table, column or index'"
)
_QUESTION = draft(reminders=(5_000,), digest="cd" * 32)
_AGAIN = draft(digest="cd" * 32)
_VIEW = View(_QUESTION.id, ALICE, Surface.WHOLE, "all of it")
_OF_SESSION = approvals.Narrowing(session=_QUESTION.plan.session)
OPERATIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "expire_due": (approvals.expire_due, ()),
    "remind_due": (approvals.remind_due, (10,)),
    "next_wake": (approvals.next_wake, ()),
    "pending": (approvals.pending, (10,)),
    "waiting": (waiting, ()),
    "find": (approvals.find, ("abcd",)),
    "unremembered": (approvals.unremembered, (10,)),
    "answer": (approvals.answer, (approvals.Ballot(_QUESTION.id, ONCE, ALICE, "in:1"),)),
    "find_for": (approvals.find_for, (_QUESTION.id, ALICE)),
    "known_as": (people.known_as, (ALICE,)),
    "references": (approvals.references, (Requester(Intake.CHAT, ALICE.ref),)),
    "run_times": (run_times, (_QUESTION.id,)),
    "page link opened": (page_links.open_in, ("secret", "browser")),
    "page link used": (page_links.use, ("secret", "browser", "Firefox on Linux")),
    "totp key": (totp_keys.key_of, ("ana",)),
    "totp try": (totp_keys.take_try, ("ana",)),
    "totp spent": (totp_keys.spend, ("ana", 7)),
    "proofs": (proofs.of_approval, (_QUESTION.id,)),
    "page session ends": (tokens.sign_out, ("4k7w",)),
    "token": (tokens.holder, ("ab" * 32,)),
    "token used": (tokens.used, ("7",)),
    "whose run": (owners.agent_of, (_QUESTION.id,)),
    "active grants": (grants.active, (_QUESTION.plan.agent, _QUESTION.plan.session)),
    "use grants": (grants.use, ((),)),
    "recent commands": (past_commands.recent, (_QUESTION.plan.agent, 500)),
    "session settings": (overrides.get, (_QUESTION.plan.session,)),
    "history": (approvals.history, (10, 5, _QUESTION.plan.agent, 1)),
    "search": (approvals.search, (lambda _: True, 10)),
    "past": (references.past, ("abcdef",)),
    "queued": (runs.queued, (10,)),
    "recover": (recovery.recover, ("boot",)),
    "interrupted": (recovery.interrupted, ("boot", 1_000)),
    "reported": (runs.reported, (_QUESTION.id,)),
    "unended node notices": (node_notices.unended, ()),
    "recent node notices": (node_notices.recent, (1_000,)),
    "end a node notice": (node_notices.end, (7, "")),
    "abandon": (runs.abandon, (_QUESTION.id, DenialReason.SPAWN_FAILED, "", "boot")),
    "create": (approvals.create, (_AGAIN, DEFAULT_LIMITS)),
    "ended_with": (approvals.ended_with, (_QUESTION.id,)),
    "settle_lost": (approvals.settle_lost, (_QUESTION.id, "companion", "")),
    "cancel": (approvals.cancel, (_QUESTION.id, "")),
    "claim": (outbox.claim, (10, 1_000, ("telegram",), (GROUP,))),
    "sent": (outbox.sent, (1, "m")),
    "sent_group": (outbox.sent_group, ((1,), "m")),
    "drop": (outbox.drop, (1, "no")),
    "members": (outbox.members, (GROUP, "m")),
    "asked_at": (outbox.asked_at, (_QUESTION.id,)),
    "origin_of": (origins.origin_of, (_QUESTION.plan.session,)),
    "thread_of": (threads.thread_of, (_QUESTION.plan.session, GROUP)),
    "next_due": (outbox.next_due, ()),
    "reconcile": (outbox.reconcile, (("terminal",),)),
    "open_surfaces": (outbox.open_surfaces, ()),
    "evidence": (evidence_of, (_QUESTION.id,)),
    "views": (showings.record_views, ((_VIEW,),)),
    "insight": (insight, (30, 0)),
    "history of a session": (approvals.history, (10, None, None, None, _OF_SESSION)),
    "approval_of": (approval_of, (GROUP, "m")),
}


_BOUNDED = (
    "accounts|clock|grants|node_requests|nodes|pair_tries|pairings|people|push_subscriptions"
    "|replicas|session_settings|tokens"
)
"""Tables whose rows are made by people and configurations, not by requests."""
_PART = {
    "core.store.approvals.queries._APPROVALS": "the beginning of every query of approvals",
    "core.store.approvals.requesters._asked": "a part of other statements",
    "core.store.outbox.messages._EDITS": "a part of the statement that reconciles",
    "core.store.people.page_sessions._WITHDRAW": "links of a day, once somebody is revoked",
    "core.store.people.people._HAS_ASKED": "asked once a person is revoked, and ends at the first",
    "core.store.retention._old_events": "a part of the deletion, which is bounded",
    "core.store.runs.recovery._CLAIMED": "asked once, when a gateway starts",
}
"""Statements that may scan a table that grows, and why."""
_ON_POSTGRESQL_ONLY = "core.store.engine.postgres."


def statements() -> Iterator[tuple[str, Any]]:
    """Yield each statement in a module of the store, by the name that it has there."""
    for found in pkgutil.walk_packages(core.store.__path__, "core.store."):
        if found.name.startswith((_ON_POSTGRESQL_ONLY, "core.store.migrations")):
            continue
        for name, value in vars(importlib.import_module(found.name)).items():
            if isinstance(value, Select | CompoundSelect | Update | Delete | Insert):
                yield f"{found.name}.{name}", value


class Explained(Exception):
    """The plan is known; nothing needs to be executed."""


def plan_of(conn: Connection, statement: Any) -> list[str]:
    """Return how SQLite would execute a statement, without executing it."""
    plans: list[str] = []

    def explain(_conn: Any, cursor: Any, words: str, values: Any, _ctx: Any, _many: bool) -> None:
        rows = cursor.execute(f"EXPLAIN QUERY PLAN {words}", values)
        plans.extend(row[3] for row in rows.fetchall())
        raise Explained

    binds = statement.compile(dialect=conn.dialect).binds
    values = {name: [None] if bind.expanding else None for name, bind in binds.items()}
    event.listen(conn.engine, "before_cursor_execute", explain)
    try:
        conn.execute(statement, values)
    except Explained:
        return plans
    finally:
        event.remove(conn.engine, "before_cursor_execute", explain)
    raise AssertionError("it was executed")


def scanning(folder: Path, these: Iterable[tuple[str, Any]]) -> dict[str, list[str]]:
    """Return the statements that scan a growing table, with what SQLite says about it."""
    path = folder / "state.db"
    writer = Writer(path, HighWater(), "boot", DiskReserve(path))
    writer.open()
    conn = writer._conn
    assert conn is not None
    pattern = rf"SCAN (?!{_NO_TABLE}|(?:{_BOUNDED})\b)(?!.*USING.*INDEX)|SEARCH \w+\Z"
    scans = {}
    with conn.begin():
        for name, statement in these:
            bare = [plan for plan in plan_of(conn, statement) if re.match(pattern, plan)]
            if bare:
                scans[name] = bare
    writer.close()
    return scans


def test_a_scan_is_seen_by_the_name_of_its_statement(tmp_path: Path) -> None:
    """A query that no index serves is named; the same one by a key is not."""
    by_time = select(session_events).order_by(session_events.c.at_ms.desc()).limit(10)
    by_key = select(session_events).where(session_events.c.session == "main")

    assert scanning(tmp_path, [("by time", by_time), ("by key", by_key)]).keys() == {"by time"}


def test_no_statement_scans_a_table_that_grows(tmp_path: Path) -> None:
    """Each statement of each module finds its rows by an index; exceptions are named above."""
    scans = scanning(tmp_path, statements())

    assert {name: plan for name, plan in scans.items() if name not in _PART} == {}, _NO_INDEX
    assert _PART.keys() == scans.keys(), "drop from _PART what has an index by now"


@pytest.mark.parametrize("name", OPERATIONS)
def test_no_operation_scans_a_table(name: str, tmp_path: Path) -> None:
    """Every table that an operation reads is searched by an index, or walked by a partial one."""
    path = tmp_path / "state.db"
    writer = Writer(path, HighWater(), "boot", DiskReserve(path))
    writer.open()
    conn = writer._conn
    assert conn is not None
    with conn.begin():
        approvals.create(conn, _QUESTION)
    plans: list[str] = []

    def explain(_conn: Any, cursor: Any, words: str, values: Any, _ctx: Any, many: bool) -> None:
        if re.match(r"SELECT|UPDATE|WITH|DELETE|INSERT", words):
            rows = cursor.execute(f"EXPLAIN QUERY PLAN {words}", values[0] if many else values)
            plans.extend(row[3] for row in rows.fetchall())

    event.listen(conn.engine, "before_cursor_execute", explain)
    operation, arguments = OPERATIONS[name]
    with conn.begin():
        operation(conn, *arguments)
    writer.close()
    assert plans
    bare = [plan for plan in plans if re.match(rf"SCAN (?!{_NO_TABLE})(?!.*USING.*INDEX)", plan)]
    bare += [plan for plan in plans if re.fullmatch(r"SEARCH \w+", plan)]
    assert bare == []
