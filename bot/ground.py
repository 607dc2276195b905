"""Open what a gateway stands on: the journal and the store; settle what an earlier one left."""

import secrets
from contextlib import AsyncExitStack
from dataclasses import dataclass

from bot.network import Network
from bot.recovery import recover, settle
from bot.settings import Settings
from core.audit.journal import AuditJournal
from core.gate.deferred import Deferred, deliver_left_behind
from core.ports import Journal
from core.runner.proof_of_life import own_name
from core.store import Store, open_store, replicas, session_overrides
from core.store.outage import WatchedStore

RESULTS = "results"
"""Folder in the home with results that the store could not take yet."""


@dataclass(frozen=True, slots=True)
class Ground:
    """Journal and store of one gateway; ``owner`` names this boot, ``deferred`` holds results."""

    journal: Journal
    store: Store
    owner: str
    deferred: Deferred


async def open_ground(stack: AsyncExitStack, settings: Settings, network: Network) -> Ground:
    """Open journal and store, and recover; the stack closes them.

    Raises:
        SaysoError: one of them cannot be used; the message says which and what to do.
    """
    journal = network.counted_journal(stack.enter_context(AuditJournal(settings.audit_path)))
    store = network.counted_store(WatchedStore(await open_store(settings.store_url)))
    stack.push_async_callback(store.close)
    owner = secrets.token_hex(8)
    await store.write(replicas.heartbeat, owner, replicas.LEASE_MS, own_name())
    await store.write(session_overrides.begin, owner)
    stack.push_async_callback(store.write, replicas.leave, owner)
    results = settings.home / RESULTS
    await deliver_left_behind(store, results)
    await settle(store, settings.audit_path, owner)
    await recover(store, journal, owner, lapsed=False)
    deferred = Deferred(store, journal, results)
    stack.push_async_callback(deferred.close)
    return Ground(journal, store, owner, deferred)
