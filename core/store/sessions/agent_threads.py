"""Remember the prompts that people gave agents in chats, until their threads say how they ended."""

from dataclasses import dataclass

from sqlalchemy import Connection, RowMapping, bindparam, select, update
from sqlalchemy.dialects.postgresql import insert  # its ON CONFLICT compiles for SQLite as well

from core.model.identity import AgentId, ApprovalId, Target
from core.store.engine.clock import now_ms
from core.store.schema.json_columns import dump, load
from core.store.schema.people_tables import agent_threads
from core.store.schema.tables import requests

_CREATE = (
    insert(agent_threads)
    .values(
        key=bindparam("p_key"),
        agent=bindparam("p_agent"),
        account=bindparam("p_account"),
        place=bindparam("p_place"),
        reply_to="",
        parts=0,
        ended=0,
        at_ms=bindparam("p_now"),
    )
    .on_conflict_do_nothing()
)
_PLACE = (
    update(agent_threads)
    .where(agent_threads.c.key == bindparam("p_key"), agent_threads.c.thread.is_(None))
    .values(thread=bindparam("p_thread"), reply_to=bindparam("p_reply_to"))
)
_OPEN = select(agent_threads).where(agent_threads.c.ended == 0).order_by(agent_threads.c.at_ms)
_OF_RUN = (
    select(agent_threads.c.place, agent_threads.c.thread)
    .join(requests, requests.c.request_key == agent_threads.c.key)
    .where(requests.c.run_id == bindparam("p_run"))
)


@dataclass(frozen=True, slots=True)
class AgentThread:
    """A prompt from a chat: its request key, who gave it, where, and where its words go."""

    key: str
    agent: AgentId
    account: str
    place: Target
    thread: Target | None = None


def create(conn: Connection, made: AgentThread) -> bool:
    """Remember a prompt before it is submitted; ``False`` if it is known."""
    values = {
        "p_key": made.key,
        "p_agent": made.agent,
        "p_account": made.account,
        "p_place": dump(made.place),
        "p_now": now_ms(conn),
    }
    return conn.execute(_CREATE, values).rowcount == 1


def place_in(conn: Connection, key: str, thread: Target, reply_to: str = "") -> None:
    """Note, once, where an agent's words go, and which message they reply to."""
    conn.execute(_PLACE, {"p_key": key, "p_thread": dump(thread), "p_reply_to": reply_to})


def not_ended(conn: Connection) -> tuple[AgentThread, ...]:
    """Return the prompts whose threads do not say yet how they ended, the oldest first."""
    return tuple(_thread(row) for row in conn.execute(_OPEN).mappings())


def thread_of(conn: Connection, run_id: ApprovalId) -> Target | None:
    """Return where the words of a prompt go, ``None`` if it did not come from a chat."""
    row = conn.execute(_OF_RUN, {"p_run": run_id}).mappings().first()
    return None if row is None else load(Target, row["thread"] or row["place"])


def _thread(row: RowMapping) -> AgentThread:
    return AgentThread(
        row["key"],
        AgentId(row["agent"]),
        row["account"],
        load(Target, row["place"]),
        load(Target, row["thread"]) if row["thread"] else None,
    )
