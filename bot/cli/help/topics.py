"""Describe what applies to every command: exit codes, environment variables, files."""

EXIT_CODES = {
    "0": "done",
    "1": "Sayso or a check failed; `sayso run` says on standard error whether the command ran",
    "2": "wrong usage or configuration, or an unknown id",
    "3": "denied, refused, or not answered in time",
    "4": "still pending, or the command timed out",
    "5": "the gateway was asked and did not answer: it may have acted on the request",
}
ENVIRONMENT = {
    "SAYSO_HOME": "the folder with settings and state (default: ~/.sayso)",
    "SAYSO_SOCKET": "the gateway's socket (default: gateway.sock in SAYSO_HOME)",
    "SAYSO_TASK": "the task of `sayso run` where --task names none",
    "SAYSO_…": "a setting: SAYSO_TOOLS__EXEC__ASK=always overrides tools.exec.ask in config.json5",
    "NO_COLOR": "any value: no colours; there are none outside a terminal anyway",
}
FILES = {
    "config.json5": "settings; `sayso config check` reports every error",
    "exec-approvals.json": "allowlists and policy of each agent; see `sayso approvals`",
    "state.db": "pending approvals, runs, grants, people, tokens",
    "audit.jsonl": "the journal: hash-chained, one record per line; see `sayso audit`",
    "audit.jsonl.000001": "the first segment that `sayso audit rotate` ended; then .000002 …",
    "gateway.sock": "the socket on which the gateway answers its own user",
    "lockdown": "exists only while every request is denied; see `sayso lockdown`",
}
DOCUMENTS = """\
Documents that messages name (docs/…, config.example.json5) are in the checkout; where a wheel was
installed, in share/doc/sayso of its environment.
"""
JSON = """\
With --json a command prints JSON only. Its result is on standard output. A failure is one JSON
object on standard error: {"error": {"type": …, "message": …, "exitCode": …}}; that of
`sayso config check` has "problems" as well. Remarks are on standard error too, each an object on
its own line: {"warning": …} or {"note": …}. A refusal is a result: it is on standard output, and
the exit code is 3.
"""
TOPICS = {
    "exit-codes": (
        "what exit codes mean",
        EXIT_CODES,
        "sayso run exits with the command's own code.",
    ),
    "environment": ("environment variables", ENVIRONMENT, ""),
    "files": ("files in $SAYSO_HOME", FILES, DOCUMENTS),
    "json": ("output for programs", {}, JSON),
}
"""Topics of `sayso help` that are not commands: a summary, a table, and text below it."""
