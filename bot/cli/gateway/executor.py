"""Offer `sayso executor`: prepare this machine so that commands run as other Unix users."""

import argparse
import os
import pwd
import sys
from pathlib import Path

from bot.cli.call import print_json
from bot.cli.parser import arg, command, group, under

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.cli.parser import Commands
    from bot.executor_setup.setup import SetupStep

_SETUP = """\
sudo sayso executor setup --gateway-user sayso --dry-run   what it would change
sudo sayso executor setup --gateway-user sayso             the gateway runs as the user sayso
"""
_ADD = """\
sudo sayso executor user add sayso_alice --agent coder
sudo sayso executor user add sayso_alice --person telegram:1001
"""
_WORKSPACE = "sudo sayso executor workspace /srv/work --user sayso_alice"
_USER = arg("user", metavar="NAME", help="the Unix user")
_DRY = arg("--dry-run", action="store_true", help="change nothing, print what would be")


def register(commands: "Commands") -> None:
    """Add the command group to the parser."""
    inner = group(
        commands, "executor", "run agents' commands as other Unix users: set up and undo", _SETUP
    )
    gateway = arg(
        "--gateway-user",
        metavar="USER",
        help="who runs the gateway (default: $SUDO_USER; as root itself, name it)",
    )
    own = arg(
        "--executor-user",
        metavar="USER",
        default="sayso_executor",
        help="execution.executorUnixUser (default: sayso_executor)",
    )
    purpose = "create group, user, executor and sudo rule; needs root"
    command(inner, "setup", purpose, _SETUP, setup, gateway, own, _DRY)
    accounts = arg("--delete-users", action="store_true", help="also the users and their homes")
    purpose = "undo what setup did; needs root"
    command(inner, "undo", purpose, "sudo sayso executor undo", undo, accounts, _DRY)
    folder = arg("folder", metavar="FOLDER", help="its absolute path; created if needed")
    other = arg("--user", metavar="NAME", required=True, help="the Unix user that works in it")
    purpose = "make a folder for the gateway and one other user, and nobody else; needs root"
    command(inner, "workspace", purpose, _WORKSPACE, workspace, folder, other, gateway, _DRY)
    users = group(inner, "user", "the Unix users that executors run as", _ADD, dest="what")
    purpose = "let executors run as a user, who is created if needed; needs root"
    agent = arg("--agent", metavar="A", action="append", default=[], help="an agent of this user")
    person = arg("--person", metavar="P", action="append", default=[], help="a person of this user")
    command(users, "add", purpose, _ADD, user_add, _USER, gateway, agent, person, _DRY)
    purpose = "stop letting executors run as a user; needs root"
    account = arg("--delete-user", action="store_true", help="also the user and its home")
    example = "sudo sayso executor user remove sayso_alice"
    command(users, "remove", purpose, example, user_remove, _USER, account, _DRY)
    under(commands, "The gateway")


def setup(args: argparse.Namespace) -> int:
    """Carry out the steps of the setup that are needed.

    Raises:
        SaysoError: this is not root, or a step failed.
    """
    from bot.executor_setup.setup import setup as steps  # noqa: PLC0415 - heavy

    return _take(args, steps(_gateway_user(args), _name(args.executor_user)))


def undo(args: argparse.Namespace) -> int:
    """Undo what setup did."""
    from bot.executor_setup.setup import undo as steps  # noqa: PLC0415 - heavy

    return _take(args, steps(account=args.delete_users))


def workspace(args: argparse.Namespace) -> int:
    """Create a folder in which the gateway and another user both work."""
    from bot.executor_setup.setup import workspace as steps  # noqa: PLC0415 - heavy

    return _take(args, steps(args.folder, _name(args.user), _gateway_user(args)))


def user_add(args: argparse.Namespace) -> int:
    """Let executors run as a user, and print what the configuration needs for that."""
    from bot.executor_setup.setup import user_add as steps  # noqa: PLC0415 - heavy

    status = _take(args, steps(_name(args.user), _gateway_user(args)))
    if not args.json:
        names = (("agents", args.agent), ("people", args.person))
        held = "".join(f", {key}: {print_list(words)}" for key, words in names if words)
        entry = f'{{ user: "{args.user}"{held} }}'
        sys.stdout.write(f"in config.json5: execution: {{ users: [{entry}] }}\n")
    return status


def user_remove(args: argparse.Namespace) -> int:
    """Stop letting executors run as a user."""
    from bot.executor_setup.setup import user_remove as steps  # noqa: PLC0415 - heavy

    return _take(args, steps(_name(args.user), account=args.delete_user))


def print_list(words: "Sequence[str]") -> str:
    """Print a list as JSON5."""
    import json  # noqa: PLC0415 - for this only

    return json.dumps(list(words), ensure_ascii=False)


def _take(args: argparse.Namespace, steps: "Sequence[SetupStep]") -> int:
    from bot.executor_setup.setup import take  # noqa: PLC0415 - heavy
    from core.errors import BadRequest  # noqa: PLC0415 - slow to import

    if os.geteuid() != 0 and not args.dry_run:
        sayso = Path(sys.executable).with_name("sayso")  # sudo has a search path of its own
        raise BadRequest(f"This changes the machine; run it as root: `sudo {sayso} executor …`.")
    taken: list[dict[str, object]] = []
    for what, needed in take(steps, dry_run=args.dry_run):
        taken.append({"step": what, "needed": needed})
        if not args.json:
            words = ("would " if args.dry_run else "done: ") if needed else "nothing to do: "
            sys.stdout.write(f"{words}{what}\n")
            sys.stdout.flush()
    return print_json(taken) if args.json else 0


def _gateway_user(args: argparse.Namespace) -> str:
    """Return the user who runs the gateway.

    Raises:
        BadRequest: no user was named, and sudo was not used.
    """
    from core.errors import BadRequest  # noqa: PLC0415 - slow to import

    given = args.gateway_user or os.environ.get("SUDO_USER")
    if given is None and os.geteuid() != 0:
        given = pwd.getpwuid(os.geteuid()).pw_name
    if given is None:
        raise BadRequest("Name who runs the gateway: --gateway-user USER.")
    return _name(given)


def _name(user: str) -> str:
    """Return a login name that can be used in a sudo rule.

    Raises:
        BadRequest: it is not one.
    """
    from core.errors import BadRequest  # noqa: PLC0415 - slow to import
    from core.settings.isolation import LOGIN_NAME  # noqa: PLC0415 - slow to import

    if LOGIN_NAME.fullmatch(user) is None:
        raise BadRequest(
            f"`{user}` is not a login name (a-z, 0-9, _ and -, 32 characters at most)."
        )
    return user
