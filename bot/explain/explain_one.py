"""Explain one command under the configuration in effect, as the gateway would judge it."""

import shlex
from collections.abc import Mapping

from bot.explain.approval_terms import ConfiguredTerms
from bot.explain.batch import evaluated
from bot.explain.batch_entry import REQUESTER
from bot.explain.explain import Explained, Explaining
from bot.explain.rule_trace import shown as shown_rules
from bot.explain.rule_trace import to_json as to_rules
from bot.explain.session_context import MAIN, read_session_context
from bot.factories.policy import rulebook_of
from bot.settings import home_folder, read
from core.model.command import ExecOverrides, ExecRequest, PlannedCommand
from core.model.decision import Decision, Evaluation, Promise, Reason, SegmentVerdict
from core.model.identity import AgentId, SessionKey, TaskId
from core.model.policy import ExecHost, ExecPolicy
from core.planning.planner import Planner, Refusal
from core.text.render import redact

_SETTINGS = ("host", "node", "security", "ask", "ask_fallback", "trust", "safe_bins", "timeout_ms")


def explain_one(
    line: str | None,
    argv: tuple[str, ...] | None,
    agent: str,
    cwd: str,
    environ: Mapping[str, str],
    host: ExecHost | None = None,
    session: str = MAIN,
    task: TaskId | None = None,
) -> Explained:
    """Judge one command as the gateway of this home would; nothing is run or stored.

    ``host`` is the host that the call would name, ``None`` for none. The settings and grants of
    ``session`` and ``task`` count.

    Raises:
        SaysoError: the configuration or the approvals file cannot be used.
    """
    settings = read(home_folder(None, environ), environ).settings
    book = rulebook_of(settings, read_only=True)
    request = ExecRequest(
        REQUESTER,
        SessionKey(session),
        cwd,
        line=line,
        argv=argv,
        agent=AgentId(agent),
        overrides=ExecOverrides(host),
        task=task,
    )
    planner = Planner(settings.tools.exec.search_path)
    context = read_session_context(settings.store_url, request, book.idle_ms)
    return Explaining(book, planner, ConfiguredTerms.of(settings)).explain(request, context)


def to_json(explained: Explained) -> dict[str, object]:
    """Return everything that ``shown`` prints, as JSON for programs."""
    verdict = explained.verdict
    if isinstance(verdict, Refusal):
        judged: dict[str, object] = {
            "decision": Decision.DENY.word,
            "reason": verdict.reason.value,
            "segments": [],
        }
    else:
        promise = [one.words for one in verdict.promise]
        judged = {**evaluated(verdict), "promise": promise, "tier": verdict.tier}
    values = {
        setting: {"value": getattr(explained.policy, setting), "source": source}
        for setting, source in _sources(explained.policy).items()
    }
    looked = to_rules(explained.traces)
    who = explained.agent
    idle = list(explained.idle)
    in_force = {"agent": who, "policy": values, "rules": looked, "idle": idle}
    asks = None if explained.asks is None else explained.asks.as_json()
    unread = {"unread": explained.unread} if explained.unread else {}
    both = _both_judges(explained)
    return {**judged, "why": redact(verdict.why).text, **in_force, "asks": asks, **unread, **both}


def _both_judges(explained: Explained) -> dict[str, object]:
    """Return the verdicts of gateway and node on a plan for a node; nothing for other plans."""
    plan, node, gateway = explained.plan, explained.node, explained.gateway
    if plan is None or node is None or gateway is None:
        return {}
    there = {
        "id": plan.node,
        "name": redact(plan.node_name or "").text,
        **evaluated(node.verdict),
        "why": redact(node.verdict.why).text,
        "unasked": node.unasked,
    }
    return {
        "node": there,
        "gateway": {**evaluated(gateway), "why": redact(gateway.why).text},
        "plan": plan.digest,
    }


def shown(explained: Explained) -> str:
    """Format the verdict for a terminal: decision first, then each command, then each setting."""
    verdict = explained.verdict
    why = redact(verdict.why)  # it may be a node's, or name a folder of any name
    if isinstance(verdict, Refusal):
        head = [f"DENY  {verdict.reason.value}: {why}"]
    else:
        head = [f"{verdict.decision.name}  {why}"]
        head += [] if explained.asks is None else [f"     {explained.asks.words}"]
        head += [*_segments(verdict, explained.commands), *_advice(explained)]
    sources = _sources(explained.policy)
    width = max(map(len, sources))
    rows = [
        f"  {setting:<{width}}  {_plain(getattr(explained.policy, setting))}  ({source})"
        for setting, source in sources.items()
    ]
    head += ["", *(f"idle entry: {line}" for line in explained.idle)] if explained.idle else []
    head += ["", explained.unread] if explained.unread else []
    head += shown_rules(explained.traces)
    return "\n".join([*head, "", f"policy for agent {explained.agent}:", *rows]) + "\n"


def _sources(policy: ExecPolicy) -> dict[str, str]:
    return {setting: policy.sources.get(setting, "built-in default") for setting in _SETTINGS}


def _plain(value: object) -> str:
    if value is None:
        return "none"
    return " ".join(value) if isinstance(value, tuple) else str(value)


def _segments(verdict: Evaluation, commands: tuple[PlannedCommand, ...]) -> list[str]:
    lines: list[str] = []
    # A node may say less of a command, or more, than its plan has.
    for number, (one, command) in enumerate(zip(verdict.segments, commands, strict=False), 1):
        lines += ["", f"{number}. {_argv(one)}"]
        if command.cwd is not None:
            lines.append(f"   folder    {redact(command.cwd.path)}")
        lines.append(f"   program   {redact(one.resolved or 'not found')}")
        lines.append(f"   verdict   {one.decision.word} ({one.reason.value}): {redact(one.rule)}")
    return lines


def _argv(one: SegmentVerdict) -> str:
    # ascii() shows every boundary, and each invisible or misleading character as an escape.
    return "  ".join(ascii(word) for word in one.argv)


def _advice(explained: Explained) -> list[str]:
    verdict = explained.verdict
    if isinstance(verdict, Refusal) or verdict.decision is Decision.ALLOW:
        return []
    adds = [line for promise in verdict.promise for line in _adds(explained.agent, promise)]
    if adds:
        return ["", "it would be allowed after:", *adds]
    return ["", f"what would allow it: {_ADVICE[verdict.reason]}"]


def _adds(agent: AgentId, promise: Promise) -> tuple[str, ...]:
    typed = f"sayso approvals allowlist add --agent {agent} {_typed(promise)}"
    if not promise.content:
        return (f"  {typed}",)
    return (
        f"  allow-always in its prompt: {redact(promise.scope).text}",
        f"  or, regardless of later changes to these files: {typed}",
    )


def _typed(promise: Promise) -> str:
    if promise.argv is None:
        return ascii(promise.pattern)
    # ascii() keeps a misleading character visible; such a word has to be retyped.
    words = (shlex.quote(word) if word.isprintable() else ascii(word) for word in promise.argv)
    return " ".join((ascii(promise.pattern), "--argv", *words))


_BY_ACL = "an entry of the access list that equals it element by element"
_ADVICE = {
    Reason.ALLOWLISTED: "nothing is missing",
    Reason.SAFE_BIN: "nothing is missing",
    Reason.SKILL: "nothing is missing",
    Reason.RULE_ALLOWED: "nothing is missing",
    Reason.RULE_ASKED: "change the rule that the verdict names, and anything else it names",
    Reason.RULE_DENIED: "change the rule at the place that the verdict names",
    Reason.CAPABILITY: "wider agents.list[].capabilities, or other files",
    Reason.ACL: "nothing is missing",
    Reason.SECURITY_FULL: "nothing is missing",
    Reason.SANDBOXED: "nothing is missing",
    Reason.SECURITY_DENY: "set security to allowlist or full, at the place named below",
    Reason.NOT_LISTED: "an allowlist entry for each program, requested one command at a time",
    Reason.UNREADABLE: "only plain words, quotes, and | && || ; between commands",
    Reason.WRAPPER: "request the inner command on its own",
    Reason.CARRIER: "other arguments, or trust set to classical",
    Reason.SAFE_BIN_ARGUMENTS: "fewer arguments, or an allowlist entry for the program",
    Reason.ARGV_NOT_ALLOWED: _BY_ACL,
    Reason.ENVIRONMENT: "the request without these names",
    Reason.EXECUTABLE_NOT_FOUND: (
        "the program, at the path that was given or in a folder of tools.exec.searchPath"
    ),
    Reason.ASK_ALWAYS: "set ask to on-miss, at the place named below",
    Reason.STDIN: "no standard input, or a rule that allows this very vector",
    Reason.TERMINAL: "the request without a terminal (`--pty`)",
    Reason.EXPOSED: "a script in folders that nobody else may write to (`chmod go-w`)",
    Reason.REPLACES: "`-n`, which replaces nothing, or `-f` in a rule that allows it",
    Reason.AGENT_PROMPT: "security full for this agent, or a person who allows the prompt",
    Reason.OPENS_TERMINAL: "execution.terminals.unasked, or a person who allows the terminal",
    Reason.AGENT_TOOL: "security full for this agent, or a person who allows the tool call",
    Reason.STEERED: (
        "a folder without that file, setting or hook (git config --file FILE --unset NAME; what is "
        "yours belongs in your home), a program outside the work tree, or a person who allows it "
        "once"
    ),
}
