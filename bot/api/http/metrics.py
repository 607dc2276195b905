"""Count and time what the gateway does, in the text format of Prometheus.

No label holds a command, a session, a token or anything else that a client chooses: each has a
closed list of values. Counts are taken from records of the journal, so nothing is missed or counted
twice.
"""

import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from bot.api.http.gauges import Status, StatusGauges
from core.errors import JournalError
from core.model.approval import ApprovalReply, ApprovalState
from core.model.decision import Decision, DenialReason
from core.ports import Journal

CONTENT_TYPE = CONTENT_TYPE_LATEST
_FAST = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0)
_SLOW = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 900.0, 3600.0)
_MOST_ASKED = 10_000


class Meters:
    """The counters of one gateway; nothing is shared with another one in the same process."""

    def __init__(self) -> None:
        self._all = CollectorRegistry()
        ProcessCollector(registry=self._all)
        to = self._all
        self._requests = Counter(
            "sayso_http_requests", "HTTP requests", ("method", "route", "status"), registry=to
        )
        self._request_s = Histogram(
            "sayso_http_request_seconds",
            "Time of a request",
            ("route",),
            buckets=_FAST,
            registry=to,
        )
        self._sockets = Gauge("sayso_websockets", "Open WebSockets", registry=to)
        self._decisions = Counter(
            "sayso_decisions", "Policy decisions about commands", ("decision",), registry=to
        )
        self._approvals = Counter(
            "sayso_approvals", "Approvals by outcome", ("outcome",), registry=to
        )
        self._decision_s = Histogram(
            "sayso_approval_seconds", "Time from question to decision", buckets=_SLOW, registry=to
        )
        self._runs = Counter(
            "sayso_runs", "Commands that ended or did not run", ("outcome",), registry=to
        )
        self._run_s = Histogram("sayso_run_seconds", "Time of a run", buckets=_SLOW, registry=to)
        self._journal_s = Histogram(
            "sayso_journal_append_seconds", "Time of a durable record", buckets=_FAST, registry=to
        )
        self._journal_failures = Counter(
            "sayso_journal_failures", "Records that could not be written", registry=to
        )
        self._store_s = Histogram(
            "sayso_store_write_seconds", "Time of a durable write", buckets=_FAST, registry=to
        )
        self._status = StatusGauges(to)
        self._asked: OrderedDict[str, float] = OrderedDict()

    def request(self, verb: str, route: str, status: int, seconds: float) -> None:
        """Count one request; ``route`` is a template, never an address."""
        self._requests.labels(verb, route, str(status)).inc()
        self._request_s.labels(route).observe(seconds)

    def socket(self, change: int) -> None:
        """Count a WebSocket that opened (1) or closed (-1)."""
        self._sockets.inc(change)

    def store_write(self, seconds: float) -> None:
        """Time one write of the store."""
        self._store_s.observe(seconds)

    def journalled(self, kind: str, record: Mapping[str, object], seconds: float) -> None:
        """Count what a record of the journal reports."""
        self._journal_s.observe(seconds)
        if "denial" in record:
            self._runs.labels(_closed(record["denial"], _REASONS)).inc()
        match kind:
            case "decision":
                self._decisions.labels(_closed(record.get("decision"), _DECISIONS)).inc()
            case "ask":
                self._decisions.labels(Decision.ASK.word).inc()
                self._remember(str(record.get("run")))
            case "resolve":
                end = record.get("reply") or record.get("state")
                self._approvals.labels(_closed(end, _ENDS)).inc()
                self._forget(str(record.get("run")))
            case "finish":
                self._runs.labels("finished").inc()
                self._run_s.observe(_milliseconds(record.get("duration_ms")) / 1000)
            case "refuse":
                self._runs.labels(_closed(record.get("reason"), _REASONS)).inc()
            case _:
                pass

    def journal_failed(self) -> None:
        """Count a record that could not be written."""
        self._journal_failures.inc()

    def text(self, status: Status) -> bytes:
        """Return all metrics in the format of Prometheus."""
        self._status.show(status)
        return generate_latest(self._all)

    def _remember(self, run_id: str) -> None:
        self._asked[run_id] = time.monotonic()
        if len(self._asked) > _MOST_ASKED:
            self._asked.popitem(last=False)

    def _forget(self, run_id: str) -> None:
        """Time an ended question; one asked before this start is counted but not timed."""
        began = self._asked.pop(run_id, None)
        if began is not None:
            self._decision_s.observe(time.monotonic() - began)


@dataclass(frozen=True, slots=True)
class MeteredJournal:
    """A journal whose records are counted once they are on disk."""

    journal: Journal
    meters: Meters = field(repr=False)

    async def append(self, kind: str, record: dict[str, object]) -> None:
        """Append one record durably.

        Raises:
            JournalError: nothing was written.
        """
        began = time.perf_counter()
        try:
            await self.journal.append(kind, record)
        except JournalError:
            self.meters.journal_failed()
            raise
        self.meters.journalled(kind, record, time.perf_counter() - began)


_DECISIONS = frozenset(decision.word for decision in Decision)
_ENDS = frozenset(word.value for words in (ApprovalState, ApprovalReply) for word in words)
_REASONS = frozenset(reason.value for reason in DenialReason)


def _closed(word: object, words: frozenset[str]) -> str:
    return str(word) if str(word) in words else "other"


def _milliseconds(value: object) -> int:
    return value if isinstance(value, int) else 0
