"""Judge one command of a plan; judge a wrapper by the commands that it runs."""

from collections.abc import Sequence
from operator import attrgetter

from core.model.command import PinnedFile, PlannedCommand
from core.model.decision import Decision, Reason, SegmentVerdict, Tier
from core.model.policy import ExecPolicy, Trust
from core.policy.judge.by_allowlist import by_lists
from core.policy.judge.environment import judge_changes
from core.policy.judge.verdict import Context, Verdict
from core.policy.matching.argv_template import ArgvTemplate
from core.policy.matching.matchers import surroundings
from core.policy.rules.rules import Rule, Ruling
from core.programs.program import Program, program_of
from core.programs.unwrap import Unwrapped, binding_problem, reading_applet, unwrap
from core.programs.wrapper_grammar import Opaque
from core.programs.wrappers import is_shell, names_of

_strictness = attrgetter("decision")
_RULED = {
    Decision.ALLOW: Reason.RULE_ALLOWED,
    Decision.ASK: Reason.RULE_ASKED,
    Decision.DENY: Reason.RULE_DENIED,
}


def judge(command: PlannedCommand, context: Context) -> SegmentVerdict:
    """Return the verdict on one command; what is filled in only when it starts may be anything."""
    found = decide(command, context, open_ended=bool(command.late))
    file = command.executable
    return SegmentVerdict(command.argv, file.realpath if file else None, *found)


def decide(command: PlannedCommand, context: Context, *, open_ended: bool = False) -> Verdict:
    """Judge a command; ``open_ended``: a wrapper gives it more arguments than are known."""
    if context.acl is not None:
        return _by_acl(command, context.acl, context.policy)
    file = command.executable
    if file is None:
        problem = command.problem or "no such program on the search path"
        rule = f"{command.argv[0]!r}: {problem}"
        return Verdict(Decision.DENY, Reason.EXECUTABLE_NOT_FOUND, rule)
    rules = context.provisions.rules
    if not rules.rules:
        return _unruled(command, file, context, None, open_ended=open_ended)
    at = surroundings(command, context.folder)
    strict = context.policy.trust is Trust.STRICT
    ruling = rules.ruling(command.argv, file, at, whole=not command.inner, strict=strict)
    if ruling is None or ruling.decision is Decision.ALLOW:
        lifting = None if ruling is None else ruling.rule
        return _unruled(command, file, context, lifting, open_ended=open_ended)
    ruled = _ruled(ruling)
    other = _unruled(command, file, context, None, open_ended=open_ended)
    return ruled if ruled.decision >= other.decision else other


def _ruled(ruling: Ruling) -> Verdict:
    return Verdict(ruling.decision, _RULED[ruling.decision], ruling.rule.words, ruling.rule.tier)


def _unruled(
    command: PlannedCommand,
    file: PinnedFile,
    context: Context,
    lifting: Rule | None,
    *,
    open_ended: bool,
) -> Verdict:
    """Judge a command that no rule forbids or asks about; ``lifting`` is one that allows it."""
    rules = context.provisions.rules
    free = context.free
    if free is not None and not rules.restrict:
        return free
    program = program_of(command.argv[0], file)
    hidden = hidden_by(command.argv, program)
    if hidden is not None:
        return _by_inner(command, file, hidden, context, open_ended=open_ended)
    narrowed = open_ended and rules.narrows(command.argv, file)
    if narrowed or (open_ended and free is None and not takes_unknown(command, program)):
        source = "the last exit status" if command.late else "further arguments from standard input"
        rule = f"{file.realpath} would get {source}"
        return Verdict(Decision.ASK, Reason.WRAPPER, rule)
    if free is not None:
        return free
    return by_lists(command, file, program, context, lifting, open_ended=open_ended)


def _by_inner(
    command: PlannedCommand, file: PinnedFile, hidden: str, context: Context, *, open_ended: bool
) -> Verdict:
    """Judge a wrapper: the strictest verdict on what it runs and on what it sets."""
    applet = reading_applet(command.argv, file)
    entry = context.allowlist.exact((file.path, file.realpath)) if applet else None
    if entry is not None:
        rule = f"{entry.words} ({applet} only reads)"
        return Verdict(Decision.ALLOW, Reason.ALLOWLISTED, rule, entries=(entry.words,))
    found = runs(command, file, open_ended=open_ended)
    if not isinstance(found, Unwrapped):
        rule = hidden if found is None else f"{hidden}, and {found.why}"
        return Verdict(Decision.ASK, Reason.WRAPPER, rule)
    inside = context.inside(command)
    verdicts = [
        decide(one, inside, open_ended=open_ended or found.gets_more(place))
        for place, one in enumerate(command.inner)
    ]
    changes = judge_changes(found.assignments)
    if changes is not None:
        verdicts.append(Verdict(changes[0], Reason.ENVIRONMENT, changes[1]))
    if found.asks:
        verdicts.append(Verdict(Decision.ASK, Reason.WRAPPER, found.asks))
    deciding = max(verdicts, key=_strictness)
    return deciding._replace(
        rule=f"{deciding.rule} (through {command.argv[0]})",
        tier=max((one.tier for one in verdicts), key=_weight),
        entries=tuple(dict.fromkeys(words for one in verdicts for words in one.entries)),
    )


def _weight(tier: Tier) -> int:
    return tier.weight


def runs(
    command: PlannedCommand, file: PinnedFile, *, open_ended: bool
) -> Unwrapped | Opaque | None:
    """Unwrap a wrapper, and check that the plan is bound to exactly what was found."""
    found = unwrap(command.argv, file)
    if not isinstance(found, Unwrapped):
        return found
    if open_ended and found.connectors is not None:
        return Opaque("it would get further arguments from standard input")
    problem = binding_problem(command, file, found)
    return found if problem is None else Opaque(problem)


def takes_unknown(command: PlannedCommand, program: Program) -> bool:
    """Return whether what is not known of a command's arguments could not change its verdict."""
    # The reader takes `$?` only for programs with no option that is a number or holds one.
    return program.plain if command.late else reads_anything(program)


def reads_anything(program: Program) -> bool:
    """Return whether no further argument could change the verdict on a program."""
    return program.plain and program.laden is None and not program.inline


def _by_acl(command: PlannedCommand, acl: Sequence[ArgvTemplate], policy: ExecPolicy) -> Verdict:
    file = command.executable
    names = names_of(command.argv[0]) | (names_of(file.realpath) if file else frozenset())
    if is_shell(names):
        return Verdict(
            Decision.DENY, Reason.ARGV_NOT_ALLOWED, "an access list never starts a shell"
        )
    if command.late:
        rule = "what it would print is not known before it starts"
        return Verdict(Decision.DENY, Reason.ARGV_NOT_ALLOWED, rule)
    strict = policy.trust is Trust.STRICT
    found = next((one for one in acl if one.matches(command.argv, strict=strict)), None)
    if found is None:
        return Verdict(
            Decision.DENY, Reason.ARGV_NOT_ALLOWED, "no entry equals it element by element"
        )
    return Verdict(Decision.ALLOW, Reason.ACL, str(found))


def hidden_by(argv: tuple[str, ...], program: Program) -> str | None:
    """Return what hides the program that would really run, whatever the lists hold."""
    kind = program.laden if len(argv) > 1 else program.bare
    return kind or (program.inline.problem(argv[1:]) if program.inline else None)
