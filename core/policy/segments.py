"""Judge one command of a plan."""

from collections.abc import Sequence
from dataclasses import dataclass

from core.model.approval import AllowlistEntry
from core.model.command import PinnedFile, PlannedCommand
from core.model.decision import Decision, Reason, SegmentVerdict
from core.model.policy import ExecPolicy, ExecSecurity, Trust
from core.policy.allowlist import Allowlist, is_glob, is_literal
from core.policy.carriers import carrier_problem, inline_code
from core.policy.programs import Program, program_of
from core.policy.safe_bins import is_safe_bin, safe_bin_problem
from core.policy.templates import ArgvTemplate
from core.policy.wrappers import is_shell, names_of

_Verdict = tuple[Decision, Reason, str]


@dataclass(frozen=True, slots=True)
class Context:
    """What a segment is judged against. ``acl`` set: it alone decides (S4)."""

    policy: ExecPolicy
    allowlist: Allowlist
    acl: Sequence[ArgvTemplate] | None = None

    def would_pass_by(self, command: PlannedCommand) -> str | None:
        """Return the pattern to store for a missed command, ``None`` where none may be stored.

        A carrier's path is never stored, not even under classical trust (DESIGN §6).
        """
        file = command.executable
        if file is None or not is_literal(file.realpath):
            return None
        entry = AllowlistEntry(file.realpath)
        program = program_of(command.argv[0], file)
        if _hidden(command.argv, program) or _distrusted(command.argv, file, program, entry):
            return None
        return file.realpath


def judge(command: PlannedCommand, context: Context) -> SegmentVerdict:
    """Return the verdict on one command."""
    decision, reason, rule = _decide(command, context)
    file = command.executable
    return SegmentVerdict(command.argv, file.realpath if file else None, decision, reason, rule)


def _decide(command: PlannedCommand, context: Context) -> _Verdict:
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
        return Decision.ASK, Reason.WRAPPER, hidden
    return _by_lists(command.argv, file, program, context)


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
    argv: tuple[str, ...], file: PinnedFile, program: Program, context: Context
) -> _Verdict:
    policy = context.policy
    exact = context.allowlist.exact(program.paths) if program.plain else None
    if exact is not None:
        return Decision.ALLOW, Reason.ALLOWLISTED, exact.pattern
    safe = is_safe_bin(file.path, file.realpath, policy.safe_bins)
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
