"""Keep what must be sent to people until a platform has accepted it.

Claim in one transaction, send outside of any, report in a second. A claim that nobody reported
before its end may have been sent: prompts and edits go out again (a second copy is harmless, the
guarded statement decides), reminders and notices do not.

::

    enqueue         adds work, in the transaction that causes it
    claims          hands it out;  items reads what was claimed
    acknowledge     records what became of it
    delivery_clock  starts the time to answer with the delivery
    messages        brings shown copies to the final state
    message_lookup  finds copies whose sending was never confirmed
    showings        what people were shown, and who looked
    receipts        the status of each copy
    agent_messages  what the messages of an agent's thread show
    node_notices    notices of nodes that ask to be paired
"""

from core.store.outbox.acknowledge import drop, relocate, retry, sent, sent_group
from core.store.outbox.claims import claim, next_due, reconcile
from core.store.outbox.enqueue import enqueue_notice
from core.store.outbox.items import CLAIM_MS
from core.store.outbox.message_lookup import asked_at, members
from core.store.outbox.messages import OF_REMINDER, open_surfaces
from core.store.outbox.node_notices import OF_NOTICE
from core.store.schema.records import OutboxItem
from core.store.schema.states import OutboxKind

__all__ = [
    "CLAIM_MS",
    "OF_NOTICE",
    "OF_REMINDER",
    "OutboxItem",
    "OutboxKind",
    "asked_at",
    "claim",
    "drop",
    "enqueue_notice",
    "members",
    "next_due",
    "open_surfaces",
    "reconcile",
    "relocate",
    "retry",
    "sent",
    "sent_group",
]
