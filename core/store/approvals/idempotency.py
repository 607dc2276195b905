"""Bind a request key to its request, once, to distinguish a retry from a mix-up."""

import json
from hashlib import sha256

from sqlalchemy import Connection, bindparam, delete, select
from sqlalchemy.dialects.postgresql import insert  # its ON CONFLICT compiles for SQLite as well

from core.errors import Conflict
from core.model.command import ExecRequest
from core.model.identity import ApprovalId
from core.model.stdio import Capture
from core.store.schema.tables import requests

_CLAIM = (
    insert(requests)
    .values(request_key=bindparam("p_key"), run_id=bindparam("p_id"), digest=bindparam("p_digest"))
    .on_conflict_do_nothing()
    .returning(requests.c.run_id)
)
_BY_KEY = select(requests.c.run_id, requests.c.digest).where(
    requests.c.request_key == bindparam("p_key")
)
_FREE = delete(requests).where(requests.c.run_id == bindparam("p_id"))


def request_digest(request: ExecRequest) -> str | None:
    """Return the SHA-256 hex of what a request with a key asks for; ``None`` without a key.

    Agent, session and requester are in the key itself. Whether both streams are kept in one is left
    out: `sayso run` chooses it by where its own output goes, and a retry may go elsewhere. Nothing
    is looked up on the disk, because files may change between a request and its retry.
    """
    if request.request_key is None:
        return None
    stdio, overrides = request.stdio, request.overrides
    # Named one by one: a field that a later version adds must not change what an old request is.
    parts: dict[str, object] = {
        "line": request.line,
        "argv": request.argv,
        "cwd": request.cwd,
        "env": request.env,
        "host": overrides.host,
        "node": overrides.node,
        "security": overrides.security,
        "ask": overrides.ask,
        "timeout_ms": request.timeout_ms,
        "stdin": None if stdio.stdin is None else sha256(stdio.stdin).hexdigest(),
        "pty": stdio.capture is Capture.PTY,
        "environ": request.environ,
        "cpu_s": request.cpu_s,
    }
    if request.task is not None:
        parts["task"] = request.task
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def claim_key(conn: Connection, key: str | None, run_id: str, digest: str | None) -> bool:
    """Bind a request key to a run id, once; ``True`` if there is no key or it was free."""
    if key is None:
        return True
    row = {"p_key": key, "p_id": run_id, "p_digest": digest}
    return conn.execute(_CLAIM, row).first() is not None


def free_key(conn: Connection, run_id: ApprovalId) -> None:
    """Free the request key of a run that was never started, so that a retry may run."""
    conn.execute(_FREE, {"p_id": run_id})


def by_request_key(conn: Connection, key: str, digest: str | None = None) -> ApprovalId | None:
    """Return the run or approval that this request key already made.

    Nothing is compared where ``digest`` is ``None`` or was not kept.

    Raises:
        Conflict: it was made for another request.
    """
    found = conn.execute(_BY_KEY, {"p_key": key}).first()
    if found is None:
        return None
    if None not in {digest, found.digest} and digest != found.digest:
        shown = key.rpartition("\x1f")[2]  # it follows the parts that keep callers apart
        raise Conflict(
            f"The request key {shown} belongs to run {found.run_id}, a different request: another "
            "command, folder, environment, input, host or limit. Nothing was asked or run. Use a "
            "new key, or resend the first request unchanged."
        )
    return ApprovalId(found.run_id)
