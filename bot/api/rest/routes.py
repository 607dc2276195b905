"""List the REST routes; a route whose method is not in the table is left out."""

from collections.abc import Iterable

from bot.api.rest.route import Route, Style
from bot.intake.registry.method import Table
from bot.intake.results.outcomes import OutputAnswer
from bot.intake.results.records import EventAnswer

_REQUESTS = (
    Route(
        "POST",
        "/v1/requests",
        "exec.run",
        Style.CREATE,
        201,
        fixed=("wait", "stream"),
        clashes=True,
        about=("Request to run a command: 201 with its status after `wait`, and `Location`."),
    ),
    Route(
        "GET",
        "/v1/requests/{id}",
        "exec.wait",
        Style.WAIT,
        fixed=("timeoutMs", "stream"),
        about="Return the status of a request; takes `wait`.",
    ),
    Route("DELETE", "/v1/requests/{id}", "exec.cancel", Style.CANCEL, clashes=True),
)
_RUNS = (
    Route(
        "GET",
        "/v1/runs/{id}",
        "exec.wait",
        Style.WAIT,
        fixed=("timeoutMs", "stream"),
        about=("Return the status of a run, which has the id of its request; takes `wait`."),
    ),
    Route("GET", "/v1/runs/{id}/tail", "exec.tail"),
    Route(
        "GET",
        "/v1/runs/{id}/output",
        "exec.wait",
        Style.OUTPUT_STREAM,
        answer=OutputAnswer,
        fixed=("timeoutMs", "stream"),
        about="Stream events: `output` as it is printed, then `end`.",
    ),
    Route("POST", "/v1/runs/{id}/stop", "exec.cancel", Style.CANCEL, clashes=True),
)
_APPROVALS = (
    Route("GET", "/v1/approvals", "exec.approval.list"),
    Route("GET", "/v1/approvals/{id}", "exec.approval.get"),
    Route(
        "GET",
        "/v1/approvals/{id}/decision",
        "exec.approval.waitDecision",
        Style.WAIT,
        fixed=("timeoutMs", "stream"),
        about="Show one approval after `wait` for its end.",
    ),
    Route("GET", "/v1/approvals/{id}/copies", "exec.approval.copies"),
    Route("GET", "/v1/approvals/{id}/evidence", "exec.approval.evidence"),
    Route(
        "POST",
        "/v1/approvals/{id}/resolve",
        "exec.approval.resolve",
        Style.RESOLVE,
        clashes=True,
    ),
)
_RULES = (
    Route("GET", "/v1/allowlists", "exec.approvals.get"),
    Route(
        "PUT",
        "/v1/allowlists",
        "exec.approvals.set",
        Style.CHANGE,
        clashes=True,
        about="Replace exec-approvals.json, if `baseHash` is still its hash.",
    ),
    Route("GET", "/v1/insight", "insight.get"),
    Route("GET", "/v1/rules", "policy.rules"),
    Route("GET", "/v1/grants", "grants.list"),
    Route("DELETE", "/v1/grants/{id}", "grants.revoke", Style.CHANGE),
    Route(
        "POST",
        "/v1/tasks/end",
        "tasks.end",
        Style.CHANGE,
        looks_up=True,
        about="Revoke every grant of a task; 404 where none holds.",
    ),
    Route("POST", "/v1/policy/explain", "policy.explain"),
)
_PROMPTS = (
    Route(
        "POST",
        "/v1/sessions/prompt",
        "agent.prompt",
        fixed=("wait", "stream"),
        about="Give an agent a prompt: `running` with its `task_id`, which is a run's id.",
    ),
)
_TERMINALS = (
    Route("POST", "/v1/terminals", "terminal.open", status=201),
    Route("GET", "/v1/terminals", "terminal.list"),
    Route("DELETE", "/v1/terminals/{id}", "terminal.end"),
    Route("POST", "/v1/terminals/{id}/input", "terminal.input"),
    Route("POST", "/v1/terminals/{id}/resize", "terminal.resize"),
    Route("GET", "/v1/terminals/{id}/output", "terminal.read"),
)
_TOOLS = (
    Route(
        "POST",
        "/v1/tools/call",
        "tool.call",
        Style.TOOL,
        about=(
            "Call a tool that the agent was granted; 202 with its status "
            "where people are asked, and after `longestWait`."
        ),
    ),
)
_NODES = (
    Route("GET", "/v1/nodes", "node.list"),
    Route("POST", "/v1/nodes/approve", "node.approve", Style.CHANGE, looks_up=True),
    Route("GET", "/v1/nodes/{id}", "node.get"),
    Route("PUT", "/v1/nodes/{id}", "node.rename", Style.CHANGE),
    Route("POST", "/v1/nodes/{id}/rename", "node.rename", Style.CHANGE),
    Route("DELETE", "/v1/nodes/{id}", "node.revoke", Style.CHANGE),
    Route("POST", "/v1/nodes/{node}/invoke", "node.invoke", clashes=True),
    Route("GET", "/v1/nodes/{id}/approvals", "exec.approvals.node.get"),
    Route(
        "PUT",
        "/v1/nodes/{id}/approvals",
        "exec.approvals.node.set",
        Style.CHANGE,
        clashes=True,
        about="Replace a node's exec-approvals.json, if `baseHash` is still its hash.",
    ),
)
_REMOTE = (
    Route(
        "POST",
        "/exec/run",
        "exec.remote.run",
        Style.REMOTE,
        about=("Run a listed argument vector on another machine, for `longestStream` at most."),
    ),
    Route("POST", "/exec/cancel", "exec.remote.cancel"),
    Route("GET", "/exec/sessions", "exec.remote.sessions"),
    Route("GET", "/diagnostics/exec", "exec.remote.diagnostics"),
)
"""The addresses of remote exec, which its clients know without a version (S4)."""
_RECORDS = (
    Route("GET", "/v1/sessions", "sessions.list"),
    Route(
        "GET",
        "/v1/events",
        "events.drain",
        Style.EVENTS,
        about="Read a session's events after `seq`; takes `wait`.",
    ),
    Route(
        "GET",
        "/v1/events/stream",
        "events.drain",
        Style.EVENT_STREAM,
        answer=EventAnswer,
        fixed=("limit",),
        about="Stream a session's events; `Last-Event-ID` resumes.",
    ),
    Route("POST", "/v1/events/ack", "events.ack"),
    Route("GET", "/v1/history", "history.list"),
)
ROUTES: tuple[Route, ...] = (
    *_REQUESTS,
    *_RUNS,
    *_APPROVALS,
    *_RULES,
    *_PROMPTS,
    *_TERMINALS,
    *_TOOLS,
    *_RECORDS,
    *_NODES,
    *_REMOTE,
)


def served(table: Table) -> tuple[Route, ...]:
    """Return the routes whose methods this gateway has."""
    return tuple(route for route in ROUTES if route.method in table)


def by_path(routes: Iterable[Route]) -> dict[str, dict[str, Route]]:
    """Return the routes by address, then by verb."""
    found: dict[str, dict[str, Route]] = {}
    for route in routes:
        found.setdefault(route.path, {})[route.verb] = route
    return found
