"""Open what a gateway needs first: the journal and the store; settle what an earlier one left."""

import asyncio
import logging
import secrets
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass

from bot.intake.methods.audit import Rotate
from bot.jobs.journal_gaps import close_gaps, journal_id
from bot.jobs.recovery import recover, settle
from bot.settings import Settings
from bot.wiring.api import Network
from core.audit.journal import AuditJournal
from core.errors import StoreError
from core.gate.journal.deferred import Deferred, deliver_left_behind
from core.ports import Journal
from core.runner.process_liveness import own_name
from core.store import Store, open_store
from core.store.engine import replicas
from core.store.engine.outage import WatchedStore
from core.store.people import totp_keys
from core.store.schema.records import OrphanedRun
from core.store.sessions import overrides

_log = logging.getLogger(__name__)
_LEAVE_S = 2.0
RESULTS = "results"
"""Folder in the home with results that could not be stored yet."""


@dataclass(frozen=True, slots=True)
class Storage:
    """Journal and store of one gateway; ``owner`` names this start, ``deferred`` holds results.

    ``rotate`` ends the journal's segment and starts the next. ``orphans`` are the runs of gateways
    that died.
    """

    journal: Journal
    rotate: Rotate
    store: Store
    owner: str
    deferred: Deferred
    orphans: tuple[OrphanedRun, ...]


async def open_storage(stack: AsyncExitStack, settings: Settings, network: Network) -> Storage:
    """Open journal and store, and recover; the stack closes them.

    Raises:
        SaysoError: one of them cannot be used; the message says which and what to do.
    """
    audit = AuditJournal(settings.audit_path, settings.audit.rotate.max_bytes)
    journal = network.counted_journal(stack.enter_context(audit))
    own_id = journal_id(settings.audit_path, begins=audit.head.seq == 0)
    opened = await open_store(settings.store_url, journal=own_id)
    store = network.counted_store(WatchedStore(opened))
    stack.push_async_callback(store.close)
    owner = secrets.token_hex(8)
    await store.write(replicas.heartbeat, owner, replicas.LEASE_MS, own_name())
    await store.write(overrides.begin, owner)
    if await store.write(totp_keys.seal_all, settings.seals.seal):
        _log.info("the secrets of authenticator apps are sealed in the store now")
    results = settings.home / RESULTS
    deferred = Deferred(store, journal, results)
    stack.push_async_callback(_leave, store, owner)
    await deliver_left_behind(store, results)
    await settle(store, settings.audit_path, owner)
    await close_gaps(store, journal, settings.audit_path, own_id)
    found = await recover(store, journal, owner, lapsed=False)
    stack.push_async_callback(deferred.close)
    return Storage(journal, audit.rotate, store, owner, deferred, found.dead)


async def _leave(store: Store, owner: str) -> None:
    """Remove this gateway from the list of live ones, if the store can be written.

    Otherwise its heartbeat expires.
    """
    with suppress(StoreError, TimeoutError):
        async with asyncio.timeout(_LEAVE_S):
            await store.write(replicas.leave, owner)
