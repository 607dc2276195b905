"""Start the commands of a run inside something that encloses them (a sandbox)."""

from collections.abc import Mapping
from typing import Protocol

from core.model.command import ExecPlan, PlannedCommand
from core.model.identity import ApprovalId
from core.planning.environment import RUN_MARK
from core.runner.supervisor.protocol import Job, Stage


class Enclosure(Protocol):
    """What encloses all commands of one run, each separately.

    The program that encloses is started in the command's place. It resolves the command's program
    by its path, inside; that file's identity is compared immediately before, as for ``#!`` scripts.
    """

    @property
    def path(self) -> str:
        """Return the absolute path of the program that encloses."""

    @property
    def environ(self) -> Mapping[str, str]:
        """Return that program's own environment; it runs outside, so no request sets any of it."""

    @property
    def inherit(self) -> tuple[int, ...]:
        """Return the descriptors that it reads, from 3 on in this order."""

    def vector(self, place: int, command: PlannedCommand, folder: str) -> tuple[str, ...]:
        """Return the vector that starts the ``place``-th command of the line in a folder.

        Raises:
            SpawnError: the command or its folder cannot be seen from inside.
        """


def enclose(
    job: Job, fds: list[int], run_id: ApprovalId, plan: ExecPlan, enclosure: Enclosure
) -> tuple[Job, list[int]]:
    """Return a job with each command inside the enclosure, and its descriptors.

    The enclosing program uses the names of folders, so the job's own must also still lead where it
    did: its descriptor is passed once more, as a stage's.

    Raises:
        SpawnError: a command or its folder cannot be seen from inside.
    """
    own, first = len(fds), len(fds) + 1
    inherit = list(range(first, first + len(enclosure.inherit)))

    def inside(place: int, stage: Stage, command: PlannedCommand) -> Stage:
        folder = (command.cwd or plan.cwd).path
        vector = list(enclosure.vector(place, command, folder))
        before = len(vector) - len(stage["argv"])
        # Its words remain the last ones of the enclosing vector.
        late = [(index + before, at) for index, at in stage["late"]]
        return {
            **stage,
            "argv": vector,
            "late": late,
            "program": -1,
            "path": enclosure.path,
            # Inside, a file that was swapped does no harm; some enclosures need their own rights.
            "pins": [{**pin, "names": []} for pin in stage["pins"]],
            "absent": [],
            "folder": stage["folder"] or own,
            "folder_path": folder,
            "inherit": inherit,
            "env": {},  # it would be the enclosing program's; the sandbox holds what is inside
        }

    stages = [
        inside(place, stage, command)
        for place, (stage, command) in enumerate(zip(job["stages"], plan.commands, strict=True))
    ]
    environ = {**enclosure.environ, RUN_MARK: run_id}
    return {**job, "stages": stages, "env": environ}, [*fds, fds[0], *enclosure.inherit]
