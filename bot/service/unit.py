"""Write the unit of a gateway or a node, each line with its reason; detect edits."""

import hashlib
import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from core.errors import StateError

NAME = "sayso.service"
_MARK = "# Checksum of the lines below: "
_SIGN = re.compile(rf"^{_MARK}([0-9a-f]{{64}})$", re.MULTILINE)
_USER = re.compile(r"^User=(.+)$", re.MULTILINE)
_PLAIN = re.compile(r"[A-Za-z0-9_./:@+,=-]+")


class Program(StrEnum):
    """The program that the unit runs."""

    GATEWAY = "gateway"
    NODE = "node"

    @property
    def unit_name(self) -> str:
        """Return the name of the unit."""
        return NAME if self is Program.GATEWAY else "sayso-node.service"

    @property
    def words(self) -> str:
        """Return the command of `sayso` that runs it."""
        return "serve" if self is Program.GATEWAY else "node run"

    @property
    def command(self) -> str:
        """Return the command that installs it."""
        return "sayso service install" if self is Program.GATEWAY else "sayso node install"


class Scope(StrEnum):
    """The service manager that runs it."""

    USER = "user"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True)
class Chosen:
    """The user of a system unit, and whether commands may use sudo."""

    user: str = ""
    sudo: bool = True


@dataclass(frozen=True, slots=True)
class Unit:
    """The content of the unit: the program, the home if not the default, a system unit's user.

    ``sudo`` is whether commands may use sudo and other set-user-ID programs.
    """

    scope: Scope
    program: Path
    home: Path | None = None
    user: str = ""
    sudo: bool = True
    runs: Program = Program.GATEWAY

    def text(self) -> str:
        """Return the content of the unit file."""
        body = _UNIT.format(
            **_OF_PROGRAM[self.runs],
            network=_NETWORK if self.scope is Scope.SYSTEM else "",
            serve=f"{quoted(str(self.program))} {self.runs.words}",
            who=f"User={self.user}\n" if self.user else "",
            home=_home(self.home),
            more=self._system() if self.scope is Scope.SYSTEM else "",
            privileges=_LEFT_OUT if self.sudo else self._forbidden(),
            target="multi-user" if self.scope is Scope.SYSTEM else "default",
        )
        head = _HEAD.format(install=self.runs.command, status=self._status())
        return f"{head}{_MARK}{_digest(body)}\n{body}"

    def _status(self) -> str:
        return self.runs.command.replace("install", "status")

    def _system(self) -> str:
        return _KEYRING + (_RUNTIME_FOLDER if self.runs is Program.GATEWAY else "")

    def _forbidden(self) -> str:
        return _NO_SUDO + (_NO_SUDO_SYSTEM if self.scope is Scope.SYSTEM else "")


def is_ours(text: str) -> bool:
    """Return whether a unit is unchanged since some version of ``install`` wrote it."""
    sign = _SIGN.search(text)
    return sign is not None and sign[1] == _digest(text[sign.end() + 1 :])


def chosen(text: str) -> Chosen:
    """Return what was chosen when a unit was installed; reinstalling keeps that."""
    user = _USER.search(text)
    return Chosen(user[1] if user else "", sudo=_NO_SUDO.splitlines()[0] not in text)


def quoted(word: str) -> str:
    """Return a word of a command line or an assignment as systemd reads it.

    Raises:
        StateError: it contains a control character.
    """
    if not word.isprintable():
        raise StateError(f"{word!r} holds a control character; no unit can name it.")
    word = word.replace("%", "%%").replace("$", "$$")
    if _PLAIN.fullmatch(word):
        return word
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _home(home: Path | None) -> str:
    if home is None:
        return ""
    # Without ``$$``: only command lines replace variables.
    return f"Environment={quoted(f'SAYSO_HOME={home}').replace('$$', '$')}\n"


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()


_HEAD = """\
# Written by `{install}`. To change something, write a drop-in instead: `systemctl edit`
# (with --user for a user's unit); it outlives upgrades. `{status}` shows differences.
"""
_NETWORK = """\
Wants=network-online.target
After=network-online.target
"""
_UNIT = """\

[Unit]
Description={about}
{network}# Five failures in five minutes, and it stays down: see `journalctl`.
StartLimitIntervalSec=300
StartLimitBurst=5

[Service]
{started}Type=notify
ExecStart={serve}
{reload}{who}{home}Restart=on-failure
RestartSec=2
# 2 is a wrong configuration: another start would find the same.
RestartPreventExitStatus=2
{time_to_start}# Commands have 5 s to end, then TERM, grace and KILL.
TimeoutStopSec=30
{watched}# TERM goes to the {it} only, which ends its commands in order; KILL to whatever is left.
KillMode=mixed
# A command that takes all memory is killed alone; the {it} goes on.
OOMPolicy=continue
# The {it}'s own files are private (commands have umask 022), and no core dump holds its secrets.
UMask=0077
LimitCORE=0
{more}{privileges}
[Install]
WantedBy={target}.target
"""
_OF_PROGRAM = {
    Program.GATEWAY: {
        "it": "gateway",
        "about": "Sayso gateway: agents run commands on your say-so",
        "started": """\
# Started means that requests are served; `systemctl status` shows what waits and what runs.
""",
        "reload": """\
# Reads the configuration again; nothing that runs or waits is interrupted.
ExecReload=/bin/kill -HUP $MAINPID
""",
        "time_to_start": """\
# A large database is migrated before requests are served.
TimeoutStartSec=300
""",
        "watched": """\
# Executors (other Unix users) have cgroups of their own below this one, so that nothing of them is
# left when they end.
Delegate=yes
# A gateway whose event loop is stuck says nothing for a minute, and is ended and started again. A
# database that is away does not count. With the fault handler the log then shows where it was.
WatchdogSec=60
Environment=PYTHONFAULTHANDLER=1
""",
    },
    Program.NODE: {
        "it": "node",
        "about": "Sayso node: runs what a gateway orders and this machine allows",
        "started": """\
# Started means that it dials; `systemctl status` shows whether the gateway has let it in.
""",
        "reload": "",
        "time_to_start": "",
        "watched": "",
    },
}
_KEYRING = """\
# No keys of another session of this user are in reach.
KeyringMode=private
"""
_RUNTIME_FOLDER = """\
# The folder of the socket for agents that run as other users (intake.socket).
RuntimeDirectory=sayso
RuntimeDirectoryMode=0755
"""
_LEFT_OUT = """\
# Left out, since whatever is forbidden to the gateway is forbidden to the commands that people
# approve:
#   NoNewPrivileges= breaks sudo and every other set-user-ID program in commands. These imply it for
#     every user but root: PrivateDevices=, ProtectKernelTunables=, ProtectKernelModules=,
#     ProtectKernelLogs=, ProtectClock=, ProtectHostname=, RestrictNamespaces=, RestrictRealtime=,
#     RestrictSUIDSGID=, RestrictAddressFamilies=, LockPersonality=, MemoryDenyWriteExecute=,
#     SystemCallArchitectures=, SystemCallFilter=. Where no command needs sudo, install with
#     --no-sudo: it sets those of them that break nothing else.
#   ProtectSystem= makes /usr read-only for `sudo apt-get install` too; ProtectHome= hides the
#     workspaces; PrivateTmp= hides files that agents put in /tmp.
#   CapabilityBoundingSet= takes from sudo what it needs.
#   ProtectProc= hides processes of other users, by which the gateway sees who lives; ProcSubset=
#     breaks the sandbox (bubblewrap cannot mount /proc).
#   ProtectControlGroups= breaks podman as a sandbox. IPAddressDeny= is for you to decide.
"""
_NO_SUDO = """\
# Installed with --no-sudo: no command gains rights by sudo or another set-user-ID program.
NoNewPrivileges=yes
RestrictRealtime=yes
# Programs of another architecture (32-bit ones) do not start.
SystemCallArchitectures=native
"""
_NO_SUDO_SYSTEM = """\
ProtectSystem=full
ProtectKernelModules=yes
ProtectKernelLogs=yes
ProtectKernelTunables=yes
ProtectClock=yes
# Left out: RestrictNamespaces=, SystemCallFilter= and ProtectHostname= break the sandbox
# (bubblewrap), MemoryDenyWriteExecute= breaks node and java, LockPersonality= setarch,
# RestrictSUIDSGID= folders whose group is inherited, PrivateDevices= what needs a device.
"""
