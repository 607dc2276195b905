"""Name the idle entries that would have covered a command."""

from pathlib import Path

from core.approvals.file.idle import Sorted, told
from core.model.approval import AllowlistEntry
from core.model.command import ExecPlan, PlannedCommand
from core.policy.matching.allowlist import Allowlist
from core.policy.matching.matchers import surroundings


def idle_words(plan: ExecPlan, entries: Sorted) -> tuple[str, ...]:
    """Return the entries that would cover a command of a plan, were they not idle, in words."""
    commands = [one for command in plan.commands for one in (command, *command.effective)]
    return tuple(
        told(entry, at)
        for entry, at in entries.idle
        if any(_covers(entry, one, plan.cwd.path) for one in commands)
    )


def _covers(entry: AllowlistEntry, command: PlannedCommand, folder: str) -> bool:
    file = command.executable
    if file is None:
        return False
    listed, paths = Allowlist([entry], str(Path.home())), (file.path, file.realpath)
    at = surroundings(command, folder)
    found = listed.match(paths) or listed.match_vector(paths, command.argv[1:], at)
    return found is not None
