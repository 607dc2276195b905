"""Judge a program that hides no other: allowlist, safe bins, carriers, rules that allow."""

from typing import NamedTuple

from core.model.approval import AllowlistEntry
from core.model.command import PinnedFile, PlannedCommand
from core.model.decision import Decision, Reason, Tier
from core.model.policy import Trust
from core.policy.judge.script_pins import difference, held
from core.policy.judge.verdict import Context, Verdict
from core.policy.matching.matchers import GlobMatch, surroundings
from core.policy.matching.path_patterns import is_glob
from core.policy.rules.rules import Rule
from core.programs.carriers import carrier_problem
from core.programs.program import Program
from core.programs.safe_bins import safe_bin_problem
from core.programs.shims import own_paths

# A member looked up on its class costs ten times as much as a module's name.
_ALLOW, _LISTED, _ROUTINE = Decision.ALLOW, Reason.ALLOWLISTED, Tier.ROUTINE
_STRICT = Trust.STRICT


class _Cover(NamedTuple):
    """What lists a program by its path alone: an entry, a rule that allows, or a skill."""

    reason: Reason
    words: str
    pattern: str
    entries: tuple[str, ...] = ()


def by_lists(
    command: PlannedCommand,
    file: PinnedFile,
    program: Program,
    context: Context,
    lifting: Rule | None,
    *,
    open_ended: bool,
) -> Verdict:
    """Judge a command by its lists; ``lifting`` is the rule that allows it, if one does."""
    found = _by_path(command, file, program, context, lifting, open_ended=open_ended)
    if found.decision is _ALLOW:
        return found
    if not open_ended:
        vector = _by_vector(command, program, context)
        if vector is not None:
            return _listed(vector)
    if (
        lifting is not None
        and lifting.exact
        and not command.late
        and (lifting.open or not open_ended)
    ):
        return Verdict(Decision.ALLOW, Reason.RULE_ALLOWED, lifting.words, lifting.tier)
    other = difference(context.allowlist, program.paths, command)
    return found if other is None else found._replace(rule=other)


def _by_vector(
    command: PlannedCommand, program: Program, context: Context
) -> AllowlistEntry | None:
    """Return the entry that covers a command with exactly its arguments."""
    allowlist, paths, arguments = context.allowlist, program.paths, command.argv[1:]
    at = surroundings(command, context.folder)
    strict = context.policy.trust is _STRICT
    found = allowlist.match_vector(paths, arguments, at, strict=strict)
    return found or held(allowlist, paths, arguments, command)


def _by_path(
    command: PlannedCommand,
    file: PinnedFile,
    program: Program,
    context: Context,
    lifting: Rule | None,
    *,
    open_ended: bool,
) -> Verdict:
    policy = context.policy
    if program.required is not None and policy.trust is _STRICT:
        lacking = None if open_ended else program.required.problem(command.argv[1:])
        if lacking is not None:
            return Verdict(Decision.ASK, Reason.CARRIER, f"{command.argv[0]}: {lacking}")
    exact = context.allowlist.exact(program.paths) if program.plain else None
    if exact is not None:
        return _listed(exact)
    refused = None
    safe = program.safe_bin
    if safe is not None and safe in policy.safe_bins and not open_ended:
        refused = safe_bin_problem(safe, command.argv[1:])
        if refused is None:
            rule = f"{file.realpath} with its safe-bin profile"
            return Verdict(Decision.ALLOW, Reason.SAFE_BIN, rule)
    cover = _cover(command, file, program, context, lifting)
    if cover is None:
        return _missed(file, refused)
    distrusts = policy.trust is _STRICT and not program.plain
    distrust = distrusted(command.argv, file, program, cover.pattern) if distrusts else None
    if distrust is not None:
        return Verdict(Decision.ASK, Reason.CARRIER, distrust)
    return Verdict(_ALLOW, cover.reason, cover.words, _ROUTINE, cover.entries)


def _listed(entry: AllowlistEntry) -> Verdict:
    words = entry.words
    return Verdict(_ALLOW, _LISTED, words, _ROUTINE, (words,))


def _cover(
    command: PlannedCommand,
    file: PinnedFile,
    program: Program,
    context: Context,
    lifting: Rule | None,
) -> _Cover | None:
    allowlist, paths = context.allowlist, program.paths
    entry = held(allowlist, paths, None, command) or allowlist.match(paths)
    if entry is not None:
        return _Cover(Reason.ALLOWLISTED, entry.words, entry.pattern, (entry.words,))
    if lifting is not None and isinstance(lifting.match, GlobMatch):
        return _Cover(Reason.RULE_ALLOWED, lifting.words, lifting.match.pattern)
    skill = context.provisions.skills.name_of(file)
    return None if skill is None else _Cover(Reason.SKILL, f"the skill {skill}", file.realpath)


def _missed(file: PinnedFile, refused: str | None) -> Verdict:
    if refused is not None:
        return Verdict(Decision.ASK, Reason.SAFE_BIN_ARGUMENTS, f"{file.realpath}: {refused}")
    return Verdict(Decision.ASK, Reason.NOT_LISTED, f"no allowlist entry matches {file.realpath}")


def distrusted(
    argv: tuple[str, ...], file: PinnedFile, program: Program, pattern: str
) -> str | None:
    """Return why a match does not suffice under strict trust; both names must pass."""
    if program.plain:
        return None
    for path in own_paths(file.path, file.realpath):
        problem = carrier_problem(path, argv[1:])
        if problem is not None:
            return problem
    if program.unknown and is_glob(pattern) and (program.foreign or not _means(pattern)):
        return f"{file.realpath} is unknown; a wildcard does not cover it, only its own path would"
    return None


def _means(pattern: str) -> bool:
    """Return whether a pattern names one program, or a folder of the owner's own tools.

    What is anywhere below one counts where it is deep: ``~/bin/**``, not ``/srv/**``.
    """
    folder, _, name = pattern.rpartition("/")
    deep = folder.startswith("~/") or folder.count("/") >= len("///")
    return not is_glob(name) or (not is_glob(folder) and (name != "**" or deep))
