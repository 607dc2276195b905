"""Find what around a command makes it do more than its vector says."""

from core.model.command import PlannedCommand
from core.planning.git import repository
from core.planning.python_modules import shadowed
from core.planning.shims import chosen_by


def steering(command: PlannedCommand, cwd: str) -> str:
    """Return what steers a command beyond its vector, as a clause; ``""`` if nothing does."""
    return repository.steering(command, cwd) or chosen_by(command, cwd) or shadowed(command, cwd)
