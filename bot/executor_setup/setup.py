"""Define the steps of `sayso executor`: each is taken only if needed, so all can be repeated."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bot.executor_setup import accounts, closed_python, sudoers
from bot.executor_setup import workspace as workspaces
from bot.executor_setup.archive import archive, exposed, interpreter
from core.errors import BadRequest, HostUnavailable, StateError
from core.isolation.process import EXECUTOR, INTERPRETER, SUDO

_MODE = 0o755


@dataclass(frozen=True, slots=True)
class SetupStep:
    """One change to the machine: ``what`` it is, whether it ``is_done``, and how it is made."""

    what: str
    is_done: Callable[[], bool]
    act: Callable[[], object]


def take(steps: Sequence[SetupStep], *, dry_run: bool) -> Iterator[tuple[str, bool]]:
    """Take each step that is needed; yield each step, and whether it was needed.

    Raises:
        StateError: a step failed; those before it were taken, and all can be repeated.
    """
    for step in steps:
        needed = not step.is_done()
        if needed and not dry_run:
            step.act()
        yield step.what, needed


def setup(gateway_user: str, executor_user: str) -> list[SetupStep]:
    """Return the steps that make a machine ready for executors.

    Raises:
        BadRequest: the gateway's user is unknown, or is the executors' own.
        HostUnavailable: sudo is not installed.
    """
    if not accounts.exists(gateway_user):
        raise BadRequest(f"There is no user `{gateway_user}`; name the gateway's: --gateway-user.")
    if not Path(SUDO).exists():
        raise HostUnavailable(f"{SUDO} is missing; install sudo.")
    python = interpreter()
    rule, file = sudoers.rule(gateway_user), archive(INTERPRETER)
    return [
        SetupStep(f"create the group {sudoers.GROUP}", accounts.is_group, accounts.add_group),
        *user_add(executor_user, gateway_user),
        SetupStep(
            f"copy {python} to {INTERPRETER}",
            lambda: closed_python.is_copied(python),
            lambda: closed_python.copy(python),
        ),
        SetupStep(f"write {EXECUTOR}", lambda: is_installed(file), lambda: _install(file)),
        SetupStep(
            f"write {sudoers.PATH}",
            lambda: sudoers.is_written(rule),
            lambda: sudoers.write(rule),
        ),
    ]


def user_add(user: str, gateway_user: str) -> list[SetupStep]:
    """Return the steps that let executors run as a user, who is created if there is none.

    Raises:
        BadRequest: it is root, or the gateway's own user.
    """
    if user in {"root", gateway_user}:
        raise BadRequest(f"Executors must not run as {user}: that would isolate nothing.")
    return [
        SetupStep(f"create the user {user}", lambda: accounts.exists(user), lambda: _create(user)),
        SetupStep(
            f"close the home of {user} to others",
            lambda: accounts.exists(user) and accounts.is_closed(user),
            lambda: accounts.close_home(user),
        ),
        SetupStep(
            f"add {user} to {sudoers.GROUP}",
            lambda: user in accounts.members(),
            lambda: accounts.join(user),
        ),
    ]


def user_remove(user: str, *, account: bool) -> list[SetupStep]:
    """Return the steps after which executors no longer run as a user, and none starts as it."""
    steps = [
        SetupStep(
            f"remove {user} from {sudoers.GROUP}",
            lambda: user not in accounts.members(),
            lambda: accounts.leave(user),
        )
    ]
    if account:
        what = f"delete the user {user} and its home"
        steps.append(
            SetupStep(what, lambda: not accounts.exists(user), lambda: accounts.delete(user))
        )
    return steps


def workspace(folder: str, user: str, gateway_user: str) -> list[SetupStep]:
    """Return the step that creates a folder for the gateway and one of the executors' users.

    Raises:
        BadRequest: this folder cannot be used.
    """
    if user in {"root", gateway_user}:
        raise BadRequest(f"A workspace is shared with a user other than {user}.")
    path, what = Path(folder), f"share {folder} between {gateway_user} and {user}"
    workspaces.refuse(path, user, gateway_user)
    return [
        SetupStep(
            what,
            lambda: workspaces.is_shared(path, user, gateway_user),
            lambda: workspaces.share(path, user, gateway_user),
        )
    ]


def undo(*, account: bool) -> list[SetupStep]:
    """Return the steps that undo what setup did; accounts stay unless they are to go, too."""
    steps = [
        SetupStep(
            f"remove {sudoers.PATH}", lambda: not _is_there(sudoers.PATH), sudoers.PATH.unlink
        ),
        SetupStep(
            f"remove {EXECUTOR}", lambda: not _is_there(Path(EXECUTOR)), Path(EXECUTOR).unlink
        ),
        SetupStep(
            f"remove {INTERPRETER}",
            lambda: not closed_python.is_there(),
            closed_python.remove,
        ),
    ]
    for user in accounts.members():
        steps += user_remove(user, account=account)
    what = f"remove the group {sudoers.GROUP}"
    return [*steps, SetupStep(what, lambda: not accounts.is_group(), accounts.remove_group)]


def is_installed(file: bytes) -> bool:
    """Return whether the installed executor is this version, and only root can change it."""
    path = Path(EXECUTOR)
    try:
        return (
            path.read_bytes() == file
            and path.stat().st_mode & 0o777 == _MODE
            and not exposed(EXECUTOR)
        )
    except OSError:
        return False


def _create(user: str) -> None:
    accounts.create(user)
    accounts.close_home(user)


def _install(file: bytes) -> None:
    path = Path(EXECUTOR)
    if not path.parent.exists():
        path.parent.mkdir(mode=0o755, parents=True)
        path.parent.chmod(0o755)
    fresh = path.with_name(f".{path.name}.new")
    fresh.unlink(missing_ok=True)
    fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _MODE)
    with os.fdopen(fd, "wb") as opened:
        opened.write(file)
        os.fchmod(fd, _MODE)
    fresh.replace(path)
    if changeable := exposed(EXECUTOR):
        raise StateError(
            f"{changeable} can be changed by users other than root; sudo must not run it"
        )


def _is_there(path: Path) -> bool:
    return os.path.lexists(path)
