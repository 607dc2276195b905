"""Compute what allow-always would store for a command."""

from core.model.command import PinnedFile, PlannedCommand
from core.model.decision import Decision, Promise, Reason
from core.policy.judge.by_allowlist import distrusted
from core.policy.judge.environment import judge_changes
from core.policy.judge.script_pins import content_of
from core.policy.judge.segment import decide, hidden_by, runs, takes_unknown
from core.policy.judge.verdict import Context
from core.policy.matching.path_patterns import is_literal
from core.policy.matching.template_element import looks_typed
from core.programs.program import Program, program_of
from core.programs.unwrap import Unwrapped
from core.programs.wrappers import names_of

_SCRIPTED = frozenset(("awk", "gawk", "mawk", "nawk", "original-awk", "sed"))
"""Programs whose operand is code, which is never stored unless it is known to be harmless."""

_RULED = frozenset((Reason.RULE_ASKED, Reason.RULE_DENIED))
"""Where a rule decides, what is stored changes nothing."""


def promises_of(
    command: PlannedCommand, missed: Reason, context: Context, *, open_ended: bool
) -> tuple[Promise, ...] | None:
    """Return what to store for a command that was missed for a reason, ``None`` if nothing helps.

    For a carrier its exact arguments are stored, even under classical trust; for a wrapper, what
    the programs that it runs need, never itself. Scripts are held to their content.
    """
    file = command.executable
    if file is None or missed in _RULED:
        return None
    program = program_of(command.argv[0], file)
    if hidden_by(command.argv, program) is not None:
        return _inner_promises(command, file, context, open_ended=open_ended)
    if not is_literal(file.realpath) or (open_ended and not takes_unknown(command, program)):
        return None
    if command.fed or command.reloads:
        return None  # what comes through a pipe or is edited later has no content to keep
    # Code that does not exist yet has no content that could be kept.
    return None if command.absent else _own_promise(command, file, program, open_ended=open_ended)


def _inner_promises(
    command: PlannedCommand, file: PinnedFile, context: Context, *, open_ended: bool
) -> tuple[Promise, ...] | None:
    found = runs(command, file, open_ended=open_ended)
    if not isinstance(found, Unwrapped) or found.asks:
        return None
    if judge_changes(found.assignments) is not None:
        return None
    more, inside = open_ended or found.open_ended, context.inside(command)
    promises: list[Promise] = []
    for one in command.inner:
        verdict = decide(one, inside, open_ended=more)
        if verdict.decision is Decision.ALLOW:
            continue
        inner = promises_of(one, verdict.reason, inside, open_ended=more)
        if inner is None:
            return None
        promises.extend(inner)
    return tuple(promises)


def _own_promise(
    command: PlannedCommand, file: PinnedFile, program: Program, *, open_ended: bool
) -> tuple[Promise, ...] | None:
    argv, content = command.argv, content_of(command)
    distrust = distrusted(argv, file, program, file.realpath)
    if not program.carrier and distrust is None:
        # What no table knows may read code that later arguments name.
        return (Promise(file.realpath, None, content if content or program.unknown else None),)
    code = distrust is not None and not _SCRIPTED.isdisjoint(_names(file))
    stored = not (open_ended or code or any(map(looks_typed, argv[1:])))
    return (Promise(file.realpath, argv[1:], content),) if stored else None


def _names(file: PinnedFile) -> frozenset[str]:
    return names_of(file.path) | names_of(file.realpath)
