"""Judge one command of a plan; a wrapper by the commands that it runs, as if they stood there."""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

from core.model.approval import AllowlistEntry
from core.model.command import PinnedFile, PlannedCommand
from core.model.decision import Decision, Promise, Reason, SegmentVerdict, Tier
from core.model.policy import ExecPolicy, ExecSecurity, Trust
from core.policy.allowlist import Allowlist
from core.policy.carriers import carrier_problem, inline_code
from core.policy.environment import judge_changes
from core.policy.path_index import is_glob, is_literal
from core.policy.programs import Program, program_of
from core.policy.provisions import NO_PROVISIONS, Provisions
from core.policy.rule_matching import GlobMatch, surroundings
from core.policy.rules import Rule, Ruling
from core.policy.safe_bins import is_safe_bin, safe_bin_problem
from core.policy.templates import ArgvTemplate, looks_typed
from core.policy.unwrap import Unwrapped, binding_problem, reading_applet, unwrap
from core.policy.wrapper_grammar import Opaque
from core.policy.wrappers import is_shell, names_of


class _Verdict(NamedTuple):
    """One command's verdict; ``entries`` are those of the allowlist that let it pass."""

    decision: Decision
    reason: Reason
    rule: str
    tier: Tier = Tier.ROUTINE
    entries: tuple[str, ...] = ()


_strictness = attrgetter("decision")
_RULED = {
    Decision.ALLOW: Reason.RULE_ALLOWED,
    Decision.ASK: Reason.RULE_ASKED,
    Decision.DENY: Reason.RULE_DENIED,
}


_SCRIPTED = frozenset(("awk", "gawk", "mawk", "nawk", "original-awk", "sed"))
"""Programs whose operand is code, which is never stored unless it is known to be harmless."""


@dataclass(frozen=True, slots=True)
class Context:
    """What a segment is judged against, in ``folder``. ``acl`` set: it alone decides (S4)."""

    policy: ExecPolicy
    allowlist: Allowlist
    acl: Sequence[ArgvTemplate] | None = None
    provisions: Provisions = NO_PROVISIONS
    folder: str = "/"

    def would_pass_by(
        self, command: PlannedCommand, *, open_ended: bool = False
    ) -> tuple[Promise, ...] | None:
        """Return what to store for a missed command, ``None`` where nothing would make it pass.

        For a carrier its exact arguments are stored, also under classical trust (DESIGN §6), for a
        wrapper what the programs that it runs need, never itself.
        """
        file = command.executable
        if file is None:
            return None
        verdict = _decide(command, self, open_ended=open_ended)
        if verdict.decision is Decision.ALLOW:
            return ()
        if verdict.reason in {Reason.RULE_ASKED, Reason.RULE_DENIED}:
            return None
        program = program_of(command.argv[0], file)
        if _hidden(command.argv, program) is not None:
            return self._inner_promises(command, file, open_ended=open_ended)
        if not is_literal(file.realpath) or (open_ended and not _reads_anything(program)):
            return None
        distrust = _distrusted(command.argv, file, program, file.realpath)
        if not program.carrier and distrust is None:
            return (Promise(file.realpath),)
        code = distrust is not None and not _SCRIPTED.isdisjoint(_names(file))
        arguments = command.argv[1:]
        stored = not (open_ended or code or any(map(looks_typed, arguments)))
        return (Promise(file.realpath, arguments),) if stored else None

    def _inner_promises(
        self, command: PlannedCommand, file: PinnedFile, *, open_ended: bool
    ) -> tuple[Promise, ...] | None:
        found = _runs(command, file, open_ended=open_ended)
        if not isinstance(found, Unwrapped) or judge_changes(found.assignments) is not None:
            return None
        more = open_ended or found.open_ended
        promises: list[Promise] = []
        for one in command.inner:
            inner = self.would_pass_by(one, open_ended=more)
            if inner is None:
                return None
            promises.extend(inner)
        return tuple(promises)


def judge(command: PlannedCommand, context: Context) -> SegmentVerdict:
    """Return the verdict on one command."""
    found = _decide(command, context)
    file = command.executable
    return SegmentVerdict(command.argv, file.realpath if file else None, *found)


def _decide(command: PlannedCommand, context: Context, *, open_ended: bool = False) -> _Verdict:
    """Judge a command; ``open_ended``: a wrapper gives it more arguments than are known."""
    if context.acl is not None:
        return _by_acl(command, context.acl, context.policy)
    file = command.executable
    if file is None:
        problem = command.problem or "no such program on the search path"
        rule = f"{command.argv[0]!r}: {problem}"
        return _Verdict(Decision.DENY, Reason.EXECUTABLE_NOT_FOUND, rule)
    rules = context.provisions.rules
    if not rules.rules:
        return _unruled(command, file, context, None, open_ended=open_ended)
    at = surroundings(command, context.folder)
    ruling = rules.ruling(command.argv, file, at, whole=not command.inner)
    if ruling is None or ruling.decision is Decision.ALLOW:
        lifting = None if ruling is None else ruling.rule
        return _unruled(command, file, context, lifting, open_ended=open_ended)
    ruled = _ruled(ruling)
    other = _unruled(command, file, context, None, open_ended=open_ended)
    return ruled if ruled.decision >= other.decision else other


def _ruled(ruling: Ruling) -> _Verdict:
    return _Verdict(
        ruling.decision, _RULED[ruling.decision], ruling.rule.words, ruling.rule.tier
    )


def _unruled(
    command: PlannedCommand,
    file: PinnedFile,
    context: Context,
    lifting: Rule | None,
    *,
    open_ended: bool,
) -> _Verdict:
    """Judge a command that no rule forbids or asks about; ``lifting`` is one that allows it."""
    rules = context.provisions.rules
    full = context.policy.security is ExecSecurity.FULL
    if full and not rules.restrict:
        return _Verdict(Decision.ALLOW, Reason.SECURITY_FULL, "security is full")
    program = program_of(command.argv[0], file)
    hidden = _hidden(command.argv, program)
    if hidden is not None:
        return _by_inner(command, file, hidden, context, open_ended=open_ended)
    narrowed = open_ended and rules.narrows(command.argv, file)
    if narrowed or (open_ended and not full and not _reads_anything(program)):
        rule = f"{file.realpath} would get further arguments from standard input"
        return _Verdict(Decision.ASK, Reason.WRAPPER, rule)
    if full:
        return _Verdict(Decision.ALLOW, Reason.SECURITY_FULL, "security is full")
    return _by_lists(command, file, program, context, lifting, open_ended=open_ended)


def _by_inner(
    command: PlannedCommand, file: PinnedFile, hidden: str, context: Context, *, open_ended: bool
) -> _Verdict:
    """Judge a wrapper: the strictest verdict on what it runs and on what it sets."""
    applet = reading_applet(command.argv, file)
    entry = context.allowlist.exact((file.path, file.realpath)) if applet else None
    if entry is not None:
        rule = f"{entry.words} ({applet} only reads)"
        return _Verdict(Decision.ALLOW, Reason.ALLOWLISTED, rule, entries=(entry.words,))
    found = _runs(command, file, open_ended=open_ended)
    if not isinstance(found, Unwrapped):
        rule = hidden if found is None else f"{hidden}, and {found.why}"
        return _Verdict(Decision.ASK, Reason.WRAPPER, rule)
    more = open_ended or found.open_ended
    verdicts = [_decide(one, context, open_ended=more) for one in command.inner]
    changes = judge_changes(found.assignments)
    if changes is not None:
        verdicts.append(_Verdict(changes[0], Reason.ENVIRONMENT, changes[1]))
    deciding = max(verdicts, key=_strictness)
    return deciding._replace(
        rule=f"{deciding.rule} (through {command.argv[0]})",
        tier=max((one.tier for one in verdicts), key=_weight),
        entries=tuple(dict.fromkeys(words for one in verdicts for words in one.entries)),
    )


def _weight(tier: Tier) -> int:
    return tier.weight


def _names(file: PinnedFile) -> frozenset[str]:
    return names_of(file.path) | names_of(file.realpath)


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
        return _Verdict(
            Decision.DENY, Reason.ARGV_NOT_ALLOWED, "an access list never starts a shell"
        )
    strict = policy.trust is Trust.STRICT
    found = next((one for one in acl if one.matches(command.argv, strict=strict)), None)
    if found is None:
        return _Verdict(
            Decision.DENY, Reason.ARGV_NOT_ALLOWED, "no entry equals it element by element"
        )
    return _Verdict(Decision.ALLOW, Reason.ACL, str(found))


def _hidden(argv: tuple[str, ...], program: Program) -> str | None:
    """Say what hides the program that would really run, whatever the lists hold."""
    kind = program.laden if len(argv) > 1 else program.bare
    return kind or (inline_code(program.inline, argv[1:]) if program.inline else None)


class _Cover(NamedTuple):
    """What lists a program by its path alone: an entry, a rule that allows, or a skill."""

    reason: Reason
    words: str
    pattern: str
    entries: tuple[str, ...] = ()


def _by_lists(
    command: PlannedCommand,
    file: PinnedFile,
    program: Program,
    context: Context,
    lifting: Rule | None,
    *,
    open_ended: bool,
) -> _Verdict:
    argv, policy, allowlist = command.argv, context.policy, context.allowlist
    exact = allowlist.exact(program.paths) if program.plain else None
    if exact is not None:
        return _listed(exact)
    safe = not open_ended and is_safe_bin(file.path, file.realpath, policy.safe_bins)
    refused = safe_bin_problem(file.realpath, argv[1:]) if safe else None
    if safe and refused is None:
        rule = f"{file.realpath} with its safe-bin profile"
        return _Verdict(Decision.ALLOW, Reason.SAFE_BIN, rule)
    cover = _cover(file, program, context, lifting)
    strict = policy.trust is Trust.STRICT
    distrust = _distrusted(argv, file, program, cover.pattern) if cover and strict else None
    if cover is not None and distrust is None:
        return _Verdict(Decision.ALLOW, cover.reason, cover.words, entries=cover.entries)
    if not open_ended:
        at = surroundings(command, context.folder)
        vector = allowlist.match_vector(program.paths, argv[1:], at)
        if vector is not None:
            return _listed(vector)
        if lifting is not None and lifting.exact:
            return _Verdict(Decision.ALLOW, Reason.RULE_ALLOWED, lifting.words, lifting.tier)
    if distrust is not None:
        return _Verdict(Decision.ASK, Reason.CARRIER, distrust)
    return _missed(file, refused)


def _listed(entry: AllowlistEntry) -> _Verdict:
    words = entry.words
    return _Verdict(Decision.ALLOW, Reason.ALLOWLISTED, words, entries=(words,))


def _cover(
    file: PinnedFile, program: Program, context: Context, lifting: Rule | None
) -> _Cover | None:
    entry = context.allowlist.match(program.paths)
    if entry is not None:
        return _Cover(Reason.ALLOWLISTED, entry.words, entry.pattern, (entry.words,))
    if lifting is not None and isinstance(lifting.match, GlobMatch):
        return _Cover(Reason.RULE_ALLOWED, lifting.words, lifting.match.pattern)
    skill = context.provisions.skills.name_of(file)
    return None if skill is None else _Cover(Reason.SKILL, f"the skill {skill}", file.realpath)


def _missed(file: PinnedFile, refused: str | None) -> _Verdict:
    if refused is not None:
        return _Verdict(Decision.ASK, Reason.SAFE_BIN_ARGUMENTS, f"{file.realpath}: {refused}")
    return _Verdict(Decision.ASK, Reason.NOT_LISTED, f"no allowlist entry matches {file.realpath}")


def _distrusted(
    argv: tuple[str, ...], file: PinnedFile, program: Program, pattern: str
) -> str | None:
    """Say why a match does not suffice under strict trust; both names must pass."""
    if program.plain:
        return None
    for path in dict.fromkeys((file.path, file.realpath)):
        problem = carrier_problem(path, argv[1:])
        if problem is not None:
            return problem
    if program.foreign and is_glob(pattern):
        return f"{file.realpath} is unknown; a wildcard does not cover it, its own path would"
    return None
