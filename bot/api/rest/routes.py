"""List the routes of REST; a route whose method is not in the table is left out."""

from collections.abc import Iterable

from bot.api.answers import records, remote, requests, rules
from bot.api.rest.route import Route, Style
from bot.intake.registry.method import Table

_REQUESTS = (
    Route(
        "POST",
        "/v1/requests",
        "exec.run",
        requests.RequestAnswer,
        Style.CREATE,
        201,
        fixed=("wait", "stream"),
        clashes=True,
    ),
    Route(
        "GET",
        "/v1/requests/{id}",
        "exec.wait",
        requests.RequestAnswer,
        Style.WAIT,
        fixed=("timeoutMs", "stream"),
        finds=True,
    ),
    Route(
        "DELETE",
        "/v1/requests/{id}",
        "exec.cancel",
        requests.CancelledAnswer,
        Style.CANCEL,
        finds=True,
        clashes=True,
    ),
)
_RUNS = (
    Route(
        "GET",
        "/v1/runs/{id}",
        "exec.wait",
        requests.RequestAnswer,
        Style.WAIT,
        fixed=("timeoutMs", "stream"),
        finds=True,
    ),
    Route("GET", "/v1/runs/{id}/tail", "exec.tail", requests.TailAnswer, finds=True),
    Route(
        "GET",
        "/v1/runs/{id}/output",
        "exec.wait",
        requests.OutputAnswer,
        Style.OUTPUT_STREAM,
        fixed=("timeoutMs", "stream"),
        finds=True,
    ),
    Route(
        "POST",
        "/v1/runs/{id}/stop",
        "exec.cancel",
        requests.CancelledAnswer,
        Style.CANCEL,
        finds=True,
        clashes=True,
    ),
)
_APPROVALS = (
    Route("GET", "/v1/approvals", "exec.approval.list", requests.ApprovalsAnswer),
    Route("GET", "/v1/approvals/{id}", "exec.approval.get", requests.ApprovalAnswer, finds=True),
    Route(
        "GET",
        "/v1/approvals/{id}/decision",
        "exec.approval.waitDecision",
        requests.ApprovalAnswer,
        Style.WAIT,
        fixed=("timeoutMs", "stream"),
        finds=True,
    ),
    Route(
        "GET",
        "/v1/approvals/{id}/copies",
        "exec.approval.copies",
        requests.CopiesAnswer,
        finds=True,
    ),
    Route(
        "POST",
        "/v1/approvals/{id}/resolve",
        "exec.approval.resolve",
        requests.ResolvedAnswer,
        Style.RESOLVE,
        finds=True,
        clashes=True,
    ),
)
_RULES = (
    Route("GET", "/v1/allowlists", "exec.approvals.get", rules.FileAnswer),
    Route(
        "PUT",
        "/v1/allowlists",
        "exec.approvals.set",
        rules.FileChangeAnswer,
        Style.CHANGE,
        clashes=True,
    ),
    Route("GET", "/v1/grants", "grants.list", rules.GrantsAnswer),
    Route(
        "DELETE",
        "/v1/grants/{id}",
        "grants.revoke",
        rules.ChangeAnswer,
        Style.CHANGE,
        finds=True,
    ),
    Route("POST", "/v1/tasks/end", "tasks.end", rules.ChangeAnswer, Style.CHANGE, clashes=True),
    Route("POST", "/v1/policy/explain", "policy.explain", rules.ExplainAnswer),
)
_TOOLS = (Route("POST", "/v1/tools/call", "tool.call", rules.ToolAnswer, Style.TOOL),)
_REMOTE = (
    Route("POST", "/exec/run", "exec.remote.run", remote.RunAnswer, Style.REMOTE),
    Route("POST", "/exec/cancel", "exec.remote.cancel", remote.RemoteCancelledAnswer),
    Route("GET", "/exec/sessions", "exec.remote.sessions", remote.RemoteSessionsAnswer),
    Route("GET", "/diagnostics/exec", "exec.remote.diagnostics", remote.DiagnosticsAnswer),
)
"""S4's addresses, as its page writes them."""
_RECORDS = (
    Route("GET", "/v1/sessions", "sessions.list", records.SessionsAnswer),
    Route("GET", "/v1/events", "events.drain", records.EventsAnswer, Style.EVENTS),
    Route(
        "GET",
        "/v1/events/stream",
        "events.drain",
        records.EventAnswer,
        Style.EVENT_STREAM,
        fixed=("limit",),
    ),
    Route("POST", "/v1/events/ack", "events.ack", records.AckedAnswer),
    Route("GET", "/v1/history", "history.list", records.HistoryAnswer),
)
ROUTES: tuple[Route, ...] = (
    *_REQUESTS,
    *_RUNS,
    *_APPROVALS,
    *_RULES,
    *_TOOLS,
    *_RECORDS,
    *_REMOTE,
)


def served(table: Table) -> tuple[Route, ...]:
    """Return the routes whose method this gateway has."""
    return tuple(route for route in ROUTES if route.method in table)


def by_path(routes: Iterable[Route]) -> dict[str, dict[str, Route]]:
    """Return the routes by address, then by verb."""
    found: dict[str, dict[str, Route]] = {}
    for route in routes:
        found.setdefault(route.path, {})[route.verb] = route
    return found
