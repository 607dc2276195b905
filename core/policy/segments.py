"""Judge one command of a plan; a wrapper by the commands that it runs, as if they stood there."""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter

from core.model.approval import AllowlistEntry
from core.model.command import PinnedFile, PlannedCommand
from core.model.decision import Decision, Reason, SegmentVerdict
from core.model.policy import ExecPolicy, ExecSecurity, Trust
from core.policy.allowlist import Allowlist, is_glob, is_literal
from core.policy.carriers import carrier_problem, inline_code
from core.policy.environment import judge_changes
from core.policy.programs import Program, program_of
from core.policy.safe_bins import is_safe_bin, safe_bin_problem
from core.policy.templates import ArgvTemplate
from core.policy.unwrap import Unwrapped, binding_problem, reading_applet, unwrap
from core.policy.wrapper_grammar import Opaque
from core.policy.wrappers import is_shell, names_of

_Verdict = tuple[Decision, Reason, str]
_strictness = itemgetter(0)


@dataclass(frozen=True, slots=True)
class Context:
    """What a segment is judged against. ``acl`` set: it alone decides (S4)."""

    policy: ExecPolicy
    allowlist: Allowlist
    acl: Sequence[ArgvTemplate] | None = None

    def would_pass_by(
        self, command: PlannedCommand, *, open_ended: bool = False
    ) -> tuple[str, ...] | None:
        """Return the patterns to store for a missed command, ``None`` where none may be stored.

        A carrier's path is never stored, not even under classical trust (DESIGN §6), a wrapper's
        never at all: for it those of the programs that it runs are.
        """
        file = command.executable
        if file is None:
            return None
        if _decide(command, self, open_ended=open_ended)[0] is Decision.ALLOW:
            return ()
        program = program_of(command.argv[0], file)
        if _hidden(command.argv, program) is not None:
            return self._inner_patterns(command, file, open_ended=open_ended)
        if not is_literal(file.realpath) or (open_ended and not _reads_anything(program)):
            return None
        entry = AllowlistEntry(file.realpath)
        stored = not program.carrier and not _distrusted(command.argv, file, program, entry)
        return (file.realpath,) if stored else None

    def _inner_patterns(
        self, command: PlannedCommand, file: PinnedFile, *, open_ended: bool
    ) -> tuple[str, ...] | None:
        found = _runs(command, file, open_ended=open_ended)
        if not isinstance(found, Unwrapped) or judge_changes(found.assignments) is not None:
            return None
        more = open_ended or found.open_ended
        patterns: list[str] = []
        for one in command.inner:
            inner = self.would_pass_by(one, open_ended=more)
            if inner is None:
                return None
            patterns.extend(inner)
        return tuple(patterns)


def judge(command: PlannedCommand, context: Context) -> SegmentVerdict:
    """Return the verdict on one command."""
    decision, reason, rule = _decide(command, context)
    file = command.executable
    return SegmentVerdict(command.argv, file.realpath if file else None, decision, reason, rule)


def _decide(command: PlannedCommand, context: Context, *, open_ended: bool = False) -> _Verdict:
    """Judge a command; ``open_ended``: a wrapper gives it more arguments than are known."""
    if context.acl is not None:
        return _by_acl(command, context.acl, context.policy)
    file = command.executable
    if file is None:
        problem = command.problem or "no such program on the search path"
        return Decision.DENY, Reason.EXECUTABLE_NOT_FOUND, f"{command.argv[0]!r}: {problem}"
    if context.policy.security is ExecSecurity.FULL:
        return Decision.ALLOW, Reason.SECURITY_FULL, "security is full"
    program = program_of(command.argv[0], file)
    hidden = _hidden(command.argv, program)
    if hidden is not None:
        return _by_inner(command, file, hidden, context, open_ended=open_ended)
    if open_ended and not _reads_anything(program):
        rule = f"{file.realpath} would get further arguments from standard input"
        return Decision.ASK, Reason.WRAPPER, rule
    return _by_lists(command.argv, file, program, context, open_ended=open_ended)


def _by_inner(
    command: PlannedCommand, file: PinnedFile, hidden: str, context: Context, *, open_ended: bool
) -> _Verdict:
    """Judge a wrapper: the strictest verdict on what it runs and on what it sets."""
    applet = reading_applet(command.argv, file)
    entry = context.allowlist.exact((file.path, file.realpath)) if applet else None
    if entry is not None:
        return Decision.ALLOW, Reason.ALLOWLISTED, f"{entry.pattern} ({applet} only reads)"
    found = _runs(command, file, open_ended=open_ended)
    if not isinstance(found, Unwrapped):
        rule = hidden if found is None else f"{hidden}, and {found.why}"
        return Decision.ASK, Reason.WRAPPER, rule
    more = open_ended or found.open_ended
    verdicts = [_decide(one, context, open_ended=more) for one in command.inner]
    changes = judge_changes(found.assignments)
    if changes is not None:
        verdicts.append((changes[0], Reason.ENVIRONMENT, changes[1]))
    decision, reason, rule = max(verdicts, key=_strictness)
    return decision, reason, f"{rule} (through {command.argv[0]})"


def _runs(
    command: PlannedCommand, file: PinnedFile, *, open_ended: bool
) -> Unwrapped | Opaque | None:
    """Unwrap a wrapper, and see that the plan is bound to exactly what was found."""
    found = unwrap(command.argv, file)
    if not isinstance(found, Unwrapped):
        return found
    if open_ended and found.connectors is not None:
        return Opaque("it would get further words from standard input")
    problem = binding_problem(command, file, found)
    return found if problem is None else Opaque(problem)


def _reads_anything(program: Program) -> bool:
    """Tell whether no further argument could change the verdict on a program."""
    return program.plain and program.laden is None and not program.inline


def _by_acl(command: PlannedCommand, acl: Sequence[ArgvTemplate], policy: ExecPolicy) -> _Verdict:
    file = command.executable
    names = names_of(command.argv[0]) | (names_of(file.realpath) if file else frozenset())
    if is_shell(names):
        return Decision.DENY, Reason.ARGV_NOT_ALLOWED, "an access list never starts a shell"
    strict = policy.trust is Trust.STRICT
    found = next((one for one in acl if one.matches(command.argv, strict=strict)), None)
    if found is None:
        return Decision.DENY, Reason.ARGV_NOT_ALLOWED, "no entry equals it element by element"
    return Decision.ALLOW, Reason.ACL, str(found)


def _hidden(argv: tuple[str, ...], program: Program) -> str | None:
    """Say what hides the program that would really run, whatever the lists hold."""
    kind = program.laden if len(argv) > 1 else program.bare
    return kind or (inline_code(program.inline, argv[1:]) if program.inline else None)


def _by_lists(
    argv: tuple[str, ...],
    file: PinnedFile,
    program: Program,
    context: Context,
    *,
    open_ended: bool,
) -> _Verdict:
    policy = context.policy
    exact = context.allowlist.exact(program.paths) if program.plain else None
    if exact is not None:
        return Decision.ALLOW, Reason.ALLOWLISTED, exact.pattern
    safe = not open_ended and is_safe_bin(file.path, file.realpath, policy.safe_bins)
    refused = safe_bin_problem(file.realpath, argv[1:]) if safe else None
    if safe and refused is None:
        return Decision.ALLOW, Reason.SAFE_BIN, f"{file.realpath} with its safe-bin profile"
    entry = context.allowlist.match(program.paths)
    if entry is None:
        return _missed(file, refused)
    strict = policy.trust is Trust.STRICT
    distrust = _distrusted(argv, file, program, entry) if strict else None
    if distrust is not None:
        return Decision.ASK, Reason.CARRIER, distrust
    return Decision.ALLOW, Reason.ALLOWLISTED, entry.pattern


def _missed(file: PinnedFile, refused: str | None) -> _Verdict:
    if refused is not None:
        return Decision.ASK, Reason.SAFE_BIN_ARGUMENTS, f"{file.realpath}: {refused}"
    return Decision.ASK, Reason.NOT_LISTED, f"no allowlist entry matches {file.realpath}"


def _distrusted(
    argv: tuple[str, ...], file: PinnedFile, program: Program, entry: AllowlistEntry
) -> str | None:
    """Say why a match does not suffice under strict trust; both names must pass."""
    if program.plain:
        return None
    for path in dict.fromkeys((file.path, file.realpath)):
        problem = carrier_problem(path, argv[1:])
        if problem is not None:
            return problem
    if program.foreign and is_glob(entry.pattern):
        return f"{file.realpath} is unknown; a wildcard does not cover it, its own path would"
    return None
