"""Offer `sayso service`, and the same commands of `sayso node`: run under systemd."""

import argparse
import os
import sys

from bot.cli.call import print_json, show
from bot.cli.parser import arg, command, group, under

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bot.cli.parser import Commands
    from bot.service.install import UnitState
    from bot.service.systemctl import Systemd
    from bot.service.unit import Unit

_EXAMPLES = """\
sayso service install --now              write your user's unit, enable it and start it
sayso service install --print            print the unit, write nothing
sayso service status                     show its state, and whether this version would change it
sudo sayso service install --system      a system unit that runs as you
"""


def register(commands: "Commands") -> None:
    """Add the command group to the parser."""
    inner = group(commands, "service", "run the gateway as a systemd service", _EXAMPLES)
    add_commands(inner, "service", "gateway")
    under(commands, "The gateway")


def add_commands(inner: "Commands", name: str, runs: str) -> None:
    """Add `install`, `uninstall` and `status` to the group ``name``; ``runs`` is what it runs."""
    which = (
        arg("--user", action="store_true", help="your user's service manager (default)"),
        arg(
            "--system",
            dest="system_wide",
            action="store_true",
            help="the system's service manager; needs root",
        ),
        arg("--run-as", metavar="USER", help="with --system: who runs it (default: $SUDO_USER)"),
        arg("--no-sudo", action="store_true", help="commands may not use sudo; see the unit"),
    )
    force = arg("--force", action="store_true", help="even if a person edited the unit")
    now = arg("--now", action="store_true", help="also enable and start it")
    show = arg("--print", dest="dry", action="store_true", help="print the unit, write nothing")
    example = f"sayso {name} install --now"
    purpose = "write the unit, after checking it and the configuration"
    made = [command(inner, "install", purpose, example, install, *which, now, show, force)]
    purpose, example = "stop the service and remove the unit", f"sayso {name} uninstall"
    made.append(command(inner, "uninstall", purpose, example, uninstall, *which, force))
    purpose, example = "show the unit's state; exit 1 if it is not running", f"sayso {name} status"
    made.append(command(inner, "status", purpose, f"{example} --json", status, *which))
    for parser in made:
        parser.set_defaults(runs=runs)


def install(args: argparse.Namespace) -> int:
    """Check the configuration, write the unit, and print what to type next.

    Raises:
        ConfigError: the configuration cannot be used.
        StateError: systemd rejects the unit, or it cannot be written.
        Conflict: a person edited the unit.
    """
    from bot.service.install import lost_settings, put, unit_path, verify  # noqa: PLC0415 - heavy

    unit, systemd = _unit(args), _systemd(args)
    text = unit.text()
    if args.dry:
        return show(args, {"text": text} if args.json else text, str)
    _must_have_a_gateway(unit)
    notes = [_checked_config(unit), *_advice(unit)]
    notes += [f"{name} is set here and not in the unit" for name in lost_settings(os.environ)]
    if not verify(systemd, text):
        notes.append("systemd-analyze is not installed, so the unit was not verified")
    path = unit_path(unit.scope, os.environ, unit.runs)
    before = put(path, text, force=args.force)
    started = _start(systemd, before) if args.now else None
    after = "" if args.now else _next(unit, before)
    found = {"unit": str(path), "before": before, "started": started, "next": after or None}
    if args.json:
        return print_json({**found, "notes": [note for note in notes if note]})
    sys.stdout.write(f"{path}: {'unchanged' if before == 'same' else 'written'}\n")
    sys.stderr.writelines(f"note: {note}\n" for note in notes if note)
    sys.stdout.write(f"next: {after}\n" if after else "enabled and started\n")
    return 0


def uninstall(args: argparse.Namespace) -> int:
    """Stop, disable and remove the unit; print what is left.

    Raises:
        Conflict: a person edited the unit.
        StateError: it cannot be removed.
    """
    from bot.service.install import UnitState, read, remove, unit_path  # noqa: PLC0415 - heavy
    from bot.service.unit import is_ours  # noqa: PLC0415
    from core.errors import Conflict, SaysoError  # noqa: PLC0415

    systemd = _systemd(args)
    path = unit_path(systemd.scope, os.environ, systemd.runs)
    there = read(path)
    if there is not None and not is_ours(there) and not args.force:
        raise Conflict(f"{path} was edited, so it was not removed. Remove it with --force.")
    note = ""
    try:
        done = systemd.tell("disable", "--now", systemd.unit) if there is not None else None
        note = "" if done is None or done.well else done.text.strip()
    except SaysoError as failure:
        note = str(failure)
    before = remove(path, there or "", force=args.force)
    if before is not UnitState.MISSING and not note:
        systemd.tell("daemon-reload")
    left = _left(path)
    found = {"unit": str(path), "removed": there is not None, "left": left, "note": note or None}
    if args.json:
        return print_json(found)
    sys.stdout.write(f"{path}: {'removed' if there is not None else 'there was none'}\n")
    sys.stdout.writelines(f"left: {one}\n" for one in left)
    sys.stderr.write(f"note: {note}\n" if note else "")
    return 0


def status(args: argparse.Namespace) -> int:
    """Show systemd's status, and whether the unit is the one that this version would write."""
    from bot.service.install import UnitState, difference, unit_path, unit_state  # noqa: PLC0415 - heavy

    unit, systemd = _unit(args), _systemd(args)
    path, text = unit_path(unit.scope, os.environ, unit.runs), unit.text()
    how = unit_state(path, text)
    diff = difference(path, text) if how in {UnitState.OLDER, UnitState.EDITED} else ""
    state = systemd.state()
    running = state.get("ActiveState") == "active"
    found = {"unit": str(path), "compared": how, "diff": diff or None, "systemd": state}
    if args.json:
        print_json({"running": running, **found})
        return 0 if running else 1
    words = _COMPARED[how].format(install=unit.runs.command)
    sys.stdout.write(f"unit      {path}: {words}\n")
    words = " ".join(
        state[key] for key in ("ActiveState", "SubState", "UnitFileState") if key in state
    )
    sys.stdout.write(f"systemd   {words or 'cannot be reached; see `systemctl status`'}\n")
    sys.stdout.write(f"status    {state['StatusText']}\n" if state.get("StatusText") else "")
    sys.stdout.write(diff)
    return 0 if running else 1


_COMPARED = {
    "missing": "not installed; see `{install}`",
    "same": "as this version writes it",
    "older": "another version wrote it; `{install}` replaces it",
    "edited": "a person edited it; this version would write",
}


def _unit(args: argparse.Namespace) -> "Unit":
    from pathlib import Path  # noqa: PLC0415 - lazily, as everything heavy here

    from bot.service.install import program, read, unit_path  # noqa: PLC0415
    from bot.service.unit import Unit, chosen  # noqa: PLC0415

    systemd = _systemd(args)
    scope, runs = systemd.scope, systemd.runs
    before = chosen(read(unit_path(scope, os.environ, runs)) or "")
    home = os.environ.get("SAYSO_HOME")
    user = _user(args.run_as or before.user) if args.system_wide else ""
    place = Path(home).absolute() if home else None
    sudo = before.sudo and not args.no_sudo
    return Unit(scope, program(os.environ), place, user, sudo=sudo, runs=runs)


def _systemd(args: argparse.Namespace) -> "Systemd":
    from bot.service.systemctl import Systemd  # noqa: PLC0415 - lazily, as everything heavy here
    from bot.service.unit import Program, Scope  # noqa: PLC0415
    from core.errors import BadRequest  # noqa: PLC0415

    if args.user and args.system_wide:
        raise BadRequest("Give either --user or --system.")
    scope = Scope.SYSTEM if args.system_wide else Scope.USER
    return Systemd(scope, os.environ, Program(args.runs))


def _user(named: str) -> str:
    import pwd  # noqa: PLC0415

    from core.errors import BadRequest  # noqa: PLC0415

    name = named or os.environ.get("SUDO_USER", "")
    try:
        return pwd.getpwnam(name).pw_name
    except KeyError:
        said = f"there is no user {name!r}" if name else "nobody is named"
        raise BadRequest(f"Who should run it? {said}: give --run-as USER.") from None


def _checked_config(unit: "Unit") -> str:
    """Check the configuration as `sayso config check` does, or return why it was not checked.

    Raises:
        ConfigError: it cannot be used.
    """
    from bot.settings import home_folder, read  # noqa: PLC0415 - slow to import

    if unit.user and unit.user != _own_name():
        return f"the configuration was not checked; run: sudo -u {unit.user} sayso config check"
    # Without the variables of this shell: the service has none of them.
    read(home_folder(None, os.environ), {})
    return ""


def _must_have_a_gateway(unit: "Unit") -> None:
    """Refuse a service for a node that belongs to no gateway: it would exit at once.

    Raises:
        BadRequest: the home belongs to no gateway yet.
        StateError: node.json cannot be used.
    """
    from pathlib import Path  # noqa: PLC0415

    from bot.cli.paths import home  # noqa: PLC0415
    from bot.service.unit import Program  # noqa: PLC0415
    from core.nodes.node_file import required  # noqa: PLC0415

    if unit.runs is Program.NODE and unit.user in {"", _own_name()}:
        required(Path(home()))


def _own_name() -> str:
    import pwd  # noqa: PLC0415

    return pwd.getpwuid(os.geteuid()).pw_name


def _advice(unit: "Unit") -> list[str]:
    from bot.service.install import lingers  # noqa: PLC0415
    from bot.service.unit import Scope  # noqa: PLC0415

    if unit.scope is Scope.SYSTEM or lingers(os.geteuid()):
        return []
    return ["it stops when you log out; to keep it running, run: loginctl enable-linger"]


def _start(systemd: "Systemd", before: "UnitState") -> bool:
    """Enable and start the service, or restart it with a changed unit.

    Raises:
        StateError: systemd refused.
    """
    from core.errors import StateError  # noqa: PLC0415

    name = systemd.unit
    changed = before not in {"missing", "same"}
    orders = (("daemon-reload",), ("enable", name), ("restart" if changed else "start", name))
    for words in orders:
        done = systemd.tell(*words)
        if not done.well:
            raise StateError(
                f"the unit is written, but systemctl {' '.join(words)} failed: {done.text.strip()}"
            )
    return True


def _next(unit: "Unit", before: "UnitState") -> str:
    from bot.service.unit import Scope  # noqa: PLC0415

    tool = "sudo systemctl" if unit.scope is Scope.SYSTEM else "systemctl --user"
    name = unit.runs.unit_name.removesuffix(".service")
    if before in {"older", "edited"}:
        return f"{tool} daemon-reload && {tool} restart {name}"
    return f"{tool} enable --now {name}"


def _left(path: "os.PathLike[str]") -> list[str]:
    from pathlib import Path  # noqa: PLC0415

    from bot.cli.paths import home  # noqa: PLC0415
    from bot.service.install import lingers  # noqa: PLC0415

    drop_ins = Path(f"{os.fspath(path)}.d")
    left = [f"{home()}: configuration, state and journal"] if Path(home()).exists() else []
    left += [f"{drop_ins}: your changes of the unit"] if drop_ins.exists() else []
    ends = "lingering of your user; to end it, run: loginctl disable-linger"
    return [*left, *([ends] if lingers(os.getuid()) else [])]
