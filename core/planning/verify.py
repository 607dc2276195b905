"""Open what a plan bound and check that it is the same, immediately before each of its commands."""
# ruff: noqa: PTH115, PTH116
# pathlib is ten times slower here.

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace

from core.errors import HostUnavailable, PlanDrift
from core.files.file_identity import FileIdentity, identity
from core.files.lookup import check_looked, is_file, is_there
from core.model.command import ExecPlan, PinnedDirectory, PinnedFile, PlannedCommand
from core.planning.code.files.operands import appeared
from core.planning.digest import digest_of
from core.planning.further_code import became_program
from core.planning.paths.pins import FINGERPRINTS
from core.planning.paths.symlinks import links_of
from core.planning.replacing import replaced
from core.planning.steering import steering

_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_DIRECTORY = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class OpenedFile:
    """A pinned file as it was checked; ``fd`` starts it if it is an ELF program, else it is -1."""

    fd: int
    identity: FileIdentity
    elf: bool


@dataclass(frozen=True, slots=True)
class OpenedPlan:
    """A verified plan: the descriptors are what runs, whatever the names come to mean."""

    plan: ExecPlan
    cwd: int
    files: dict[PinnedFile, OpenedFile]
    folders: dict[PinnedDirectory, int]

    @property
    def identities(self) -> dict[str, FileIdentity]:
        """Return the identity of each file, by its path."""
        return {pin.path: one.identity for pin, one in self.files.items()}


@dataclass(frozen=True, slots=True)
class Recheck:
    """What was found before a further pipeline: ``why`` it may not start, or ``""``.

    ``identities`` are those of its files, by path, as they are now: an earlier command may have
    changed the times of one, and nothing else (`chmod +x x.sh && ./x.sh`).
    """

    why: str = ""
    identities: Mapping[str, FileIdentity] = field(default_factory=dict)


class _Changed(Exception):
    """Carries the clause that names what is not as it was approved; never leaves this module."""


@contextmanager
def verify(plan: ExecPlan) -> Iterator[OpenedPlan]:
    """Open executables, script operands and working folders, and compare each with its pin.

    It is also checked again what the repository around a command would make git do, that no code
    has appeared where there was none, and that the words lead where they led.

    Raises:
        PlanDrift: something is gone or changed, or the plan does not match its own digest.
        HostUnavailable: it cannot be seen whether it is: no descriptor is left, or the disk fails.
    """
    if digest_of(plan) != plan.digest:
        raise PlanDrift("the plan does not match its digest, so it is not what was approved")
    fds: list[int] = []
    try:
        try:
            opened = _open(plan, plan.commands, fds)
            _see_same_programs(plan)
        except _Changed as found:
            raise PlanDrift(f"{found}, so nothing ran. Ask again.") from found
        except OSError as error:
            why = f"what it depends on cannot be checked ({error.strerror})"
            raise HostUnavailable(f"{why}, so nothing ran. Ask again.") from error
        yield opened
    finally:
        for fd in fds:
            os.close(fd)


def recheck(plan: ExecPlan, group: slice, *, enclosed: bool = False) -> Recheck:
    """Check again whether some commands of a running line are as they were approved.

    Everything that ``verify`` checks is checked. ``enclosed`` commands run in a sandbox, where no
    code is judged: what they would read there may be of the line's own making.
    """
    fds: list[int] = []
    try:
        earlier = plan.commands[: group.start]
        opened = _open(plan, plan.commands[group], fds, enclosed=enclosed, earlier=earlier)
    except _Changed as found:
        return Recheck(str(found))
    except OSError as error:
        return Recheck(f"what it depends on cannot be checked ({error.strerror})")
    finally:
        for fd in fds:
            os.close(fd)
    return Recheck(identities=opened.identities)


def _open(
    plan: ExecPlan,
    commands: tuple[PlannedCommand, ...],
    fds: list[int],
    *,
    enclosed: bool = False,
    earlier: tuple[PlannedCommand, ...] | None = None,
) -> OpenedPlan:
    """Open what some commands of a plan are bound to; each descriptor is added to ``fds``.

    What the ``earlier`` commands of a running line were approved to change may be changed.
    """
    fds.append(_open_directory(plan.cwd))
    cwd = fds[0]
    files: dict[PinnedFile, OpenedFile] = {}
    for pin in _pins(commands):
        if pin not in files:
            files[pin] = _open_file(pin, fds)
    folders: dict[PinnedDirectory, int] = {}
    for folder in (command.cwd for command in commands):
        if folder is not None and folder not in folders:
            fds.append(_open_directory(folder))
            folders[folder] = fds[-1]
    looked_at = () if enclosed else commands
    for command in looked_at:
        if earlier is None or not command.unsettled:
            _see_same_surroundings(command, (command.cwd or plan.cwd).path, earlier or ())
    _see_same_links(() if plan.unreadable else commands, plan.cwd)
    for command in looked_at:
        _see_nothing_replaced(command, (command.cwd or plan.cwd).path)
    return OpenedPlan(plan, cwd, files, folders)


def is_warm(plan: ExecPlan) -> bool:
    """Return whether verifying needs no hashing, and so does not hold up the event loop."""
    try:
        return all(
            FINGERPRINTS.known(identity(os.stat(pin.path))) is not None
            for pin in _pins(plan.commands)
        )
    except (OSError, _Changed):
        return True  # gone: verifying will say so without hashing it


def warm(plan: ExecPlan) -> None:
    """Hash what a plan pins, so that verifying it is quick (for a thread: it may read 100 MB)."""
    with suppress(PlanDrift, HostUnavailable), verify(plan):
        pass


def _pins(commands: tuple[PlannedCommand, ...]) -> Iterator[PinnedFile]:
    for command in commands:
        if command.executable is None:
            raise _Changed(f"`{command.argv[0]}` cannot be started: {command.problem}")
        yield command.executable
        yield from command.operands


def _see_same_surroundings(
    command: PlannedCommand, cwd: str, earlier: tuple[PlannedCommand, ...]
) -> None:
    for path in (path for one in command.all_of_it for path in one.ahead):
        if is_file(path.rstrip("/")):
            raise _Changed(f"`{path.rstrip('/')}` was not a file when this was asked")
    for one in command.effective:
        there = next(filter(is_there, one.absent), "")
        why = f"`{there}` did not exist when this was asked" if there else ""
        if why := why or appeared(one, cwd, earlier):
            raise _Changed(why)
        now = steering(one, cwd)
        if now != one.steered:
            changed = now or f"it does without {one.steered}"
            raise _Changed(
                f"`{one.argv[0]}` would do something other than what was approved: {changed}"
            )


def _see_same_programs(plan: ExecPlan) -> None:
    """Check what nobody reads before a line starts: later, its own commands may make programs."""
    if why := became_program(plan):
        raise _Changed(why)


def _see_nothing_replaced(command: PlannedCommand, cwd: str) -> None:
    for one in command.effective:
        found = "" if one.replaces else replaced(one, cwd)
        if found:
            raise _Changed(f"`{found}` did not exist when `{one.argv[0]}` was approved")


def _see_same_links(commands: tuple[PlannedCommand, ...], folder: PinnedDirectory) -> None:
    for one in commands:
        at = one.cwd or folder
        # A link that is gone leads nowhere: what it was judged by besides its target remains.
        found = set(links_of(one.argv, at.path)) - set(one.links)
        if found:
            path = min(found)[0]
            raise _Changed(f"`{path}` leads elsewhere since `{one.argv[0]}` was approved")
        _see_same_links(one.inner, at)


def _open_directory(pin: PinnedDirectory) -> int:
    try:
        fd = os.open(pin.path, _DIRECTORY)
    except OSError as error:
        check_looked(error)
        raise _Changed(
            f"the working directory `{pin.path}` can no longer be opened ({error.strerror})"
        ) from error
    status = os.fstat(fd)
    if (status.st_dev, status.st_ino) != (pin.device, pin.inode):
        os.close(fd)
        raise _Changed(f"the working directory `{pin.path}` is not the one that was approved")
    return fd


def _open_file(pin: PinnedFile, fds: list[int]) -> OpenedFile:
    """Check one file; its descriptor is added to ``fds`` if it is to be started by it.

    A line may be bound to more files than a process may have open.
    """
    try:
        fd = os.open(pin.path, _READ)
    except OSError as error:
        check_looked(error)
        raise _Changed(f"`{pin.path}` can no longer be read ({error.strerror})") from error
    try:
        checked = _checked(pin, fd)
    except BaseException:
        os.close(fd)
        raise
    if checked.elf:
        fds.append(fd)
        return checked
    os.close(fd)
    return replace(checked, fd=-1)


def _checked(pin: PinnedFile, fd: int) -> OpenedFile:
    try:
        status = os.fstat(fd)
        same = (status.st_dev, status.st_ino, status.st_size) == (pin.device, pin.inode, pin.size)
        content = FINGERPRINTS.of(fd, status) if same else None
        realpath = os.readlink(f"/proc/self/fd/{fd}")
    except OSError as error:
        check_looked(error)
        raise _Changed(f"`{pin.path}` can no longer be read ({error.strerror})") from error
    if content is None or content.sha256 != pin.sha256 or realpath != pin.realpath:
        raise _Changed(f"`{pin.path}` is not the file that was approved")
    return OpenedFile(fd, identity(status), content.elf)
