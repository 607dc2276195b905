"""Run the unit under a real systemd: start, approved runs, reload, watchdog, stop."""

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.service.unit import _LEFT_OUT, _NO_SUDO_SYSTEM
from tests.docs.blocks import blocks
from tests.docs.commands import commands
from tests.support.gateway_process import ROOT
from tests.support.systemd import Systemd, a_systemd
from tests.support.waiting import wait_until

USER = "sayso-tester"
AGENT = "sayso-agent"
PAGE = ROOT / "docs/how-to/run-as-a-service.md"
REMOVAL = ROOT / "docs/how-to/uninstall.md"
HOME = Path("/home") / USER
SAYSO = Path(sys.executable).with_name("sayso")
CONFIG = {
    "tools": {"exec": {"host": "gateway", "security": "full", "ask": "off"}},
    "intake": {"unix": [{"user": AGENT, "agents": ["coder"]}]},
}
pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]


def typed(page: Path, language: str = "sh") -> list[str]:
    """Return the commands of a page's blocks that name this test, without their comments."""
    mine = [one for one in blocks(page) if one.test.endswith(Path(__file__).name)]
    found = [command.bare.strip() for one in mine for command in commands(one)]
    assert found, page
    return found


class Service:
    """The gateway of a user as a service of the system."""

    def __init__(self, systemd: Systemd, *options: str) -> None:
        self.systemd = systemd
        self.options = options

    def sayso(self, *words: str, user: str = USER, check: bool = True) -> str:
        """Run the command line as the user, or as root."""
        return self.systemd.run(str(SAYSO), *words, user=user, check=check)

    def install(self) -> str:
        """Type what the page says to install, enable and start it; return the output."""
        line = typed(PAGE)[-1].removeprefix("sudo ").replace("--run-as ann", f"--run-as {USER}")
        return self.sayso(*line.split()[1:], *self.options, user="root")

    def shows(self, name: str) -> str:
        """Return a property of the unit."""
        return self.systemd.shows("sayso", name)

    def log(self) -> str:
        """Return the gateway's log."""
        return (self.systemd.share / "gateway.log").read_text()


@pytest.fixture
def systemd() -> Iterator[Systemd]:
    """Run systemd, with a user, its configuration, and a program with the rights of root."""
    with a_systemd() as running:
        _make_user(running)
        yield running


def _make_user(systemd: Systemd) -> None:
    (systemd.share / "config.json5").write_text(json.dumps(CONFIG))
    log = "[Service]\nStandardError=append:{0}/gateway.log\nStandardOutput=append:{0}/gateway.log\n"
    (systemd.share / "log.conf").write_text(log.format(systemd.share))
    places = {*ROOT.parents, ROOT, *SAYSO.parents, *Path(sys.executable).resolve().parents}
    bwrap = shutil.which("bwrap")
    assert bwrap is not None
    script = f"""set -e
        useradd --create-home {USER}
        useradd {AGENT}
        chmod a+rx {" ".join(str(one) for one in places)}
        cp /usr/bin/id /usr/local/bin/like-sudo
        for tool in touch chown mkdir rmdir
            do cp /usr/bin/$tool /usr/local/bin/like-sudo-$tool; done
        chmod 4755 /usr/local/bin/like-sudo*
        install -d -o {USER} -m 700 {HOME}/.sayso {HOME}/work
        install -o {USER} -m 600 {systemd.share}/config.json5 {HOME}/.sayso/config.json5
        install -D -m 644 {systemd.share}/log.conf /etc/systemd/system/sayso.service.d/log.conf
        echo 'echo from a script' > {HOME}/work/x.sh
        chown {USER} {HOME}/work/x.sh
        echo kept > /tmp/kept
        chmod 644 /tmp/kept"""
    systemd.run("sh", "-c", script)


def test_what_people_approve_works_under_the_unit(systemd: Systemd) -> None:
    """Set-user-ID programs, scripts, the workspace, /tmp and the sandbox work as without it."""
    service = Service(systemd)
    printed = service.install()
    assert "sayso.service: written" in printed
    assert "enabled and started" in printed
    assert service.shows("ActiveState") == "active", service.log()
    assert "listening on" in service.log(), "started means that it serves"
    run = ("run", "--cwd", f"{HOME}/work")
    assert service.sayso(*run, "--", "/usr/local/bin/like-sudo", "-u").strip() == "0"
    assert service.sayso(*run, "--", "sh", "x.sh").strip() == "from a script"
    assert service.sayso(*run, "-c", "cat /tmp/kept > copy && umask").strip() == "0022"
    sandboxed = service.sayso(*run, "--host", "sandbox", "-c", "ls > list && cat list")
    assert "x.sh" in sandboxed
    asked = wait_until("the status line", lambda: service.shows("StatusText"))
    assert asked == "0 waiting for an answer, 0 running"
    assert "NOTIFY_SOCKET" not in service.sayso(*run, "--", "env", "-u", "x", "printenv")
    _lets_other_users_in(service)
    _reloads(service)
    _stops(service)


def _lets_other_users_in(service: Service) -> None:
    """The unit makes the folder of their socket; only the gateway's user may write to it."""
    folder = service.systemd.run("stat", "--format", "%U %a", "/run/sayso")
    assert folder.split() == [USER, "755"]
    who = service.sayso("run", "--cwd", "/", "--", "/usr/bin/id", "-un", user=AGENT)
    assert who.strip() == USER


def _reloads(service: Service) -> None:
    text = json.dumps({**CONFIG, "logging": {"level": "debug"}})
    service.systemd.run("sh", "-c", f"echo '{text}' > {HOME}/.sayso/config.json5")
    service.systemd.run("systemctl", "reload", "sayso")
    wait_until("the reload", lambda: "changed: logging.level" in service.log())
    assert service.shows("ActiveState") == "active"
    assert service.shows("NRestarts") == "0"


def _stops(service: Service) -> None:
    """Stopping ends commands in order; removing the unit says what is left."""
    asked = json.loads(service.sayso("service", "status", "--system", "--json", user="root"))
    assert (asked["running"], asked["compared"]) == (True, "same")
    service.systemd.run("systemctl", "stop", "sayso")
    assert service.shows("Result") == "success"
    assert "No such file" in service.systemd.run("ls", "/run/sayso", check=False)
    assert "sayso: stopping" in service.log()
    printed = service.sayso("service", "uninstall", "--system", user="root")
    assert "sayso.service: removed" in printed
    assert "sayso.service.d: your changes" in printed


def test_without_sudo_the_sandbox_still_works(systemd: Systemd) -> None:
    """Every line that --no-sudo adds leaves bubblewrap, scripts and the workspace working."""
    service = Service(systemd, "--no-sudo")
    service.install()
    run = ("run", "--cwd", f"{HOME}/work")
    uid = systemd.run("id", "-u", USER).strip()
    assert service.sayso(*run, "--", "/usr/local/bin/like-sudo", "-u").strip() == uid
    assert service.sayso(*run, "--", "sh", "x.sh").strip() == "from a script"
    sandboxed = service.sayso(*run, "--host", "sandbox", "-c", "ls > list && cat list")
    assert "x.sh" in sandboxed
    assert service.shows("NoNewPrivileges") == "yes"


def test_a_line_that_the_unit_leaves_out_breaks_the_sandbox(systemd: Systemd) -> None:
    """The negative control: with one of them added by hand, the same check finds it."""
    systemd.run(
        "sh",
        "-c",
        "printf '[Service]\\nRestrictNamespaces=yes\\n' > "
        "/etc/systemd/system/sayso.service.d/more.conf",
    )
    service = Service(systemd)
    service.install()
    run = ("run", "--cwd", f"{HOME}/work")
    assert service.sayso(*run, "--", "/usr/local/bin/like-sudo", "-u").strip() != "0"
    denied = service.sayso(*run, "--host", "sandbox", "-c", "ls", check=False)
    assert "host_unavailable" in denied or "does not work" in denied or "bubblewrap" in denied


SUDO = '[ "$(like-sudo -u)" = 0 ]'
SANDBOX = "bwrap --ro-bind / / --unshare-all --hostname inside --proc /proc --dev /dev true"
WRITABLE_CODE = "python3 -c 'import mmap; mmap.mmap(-1, 4096, prot=7)'"
BREAKS = {
    SUDO: (
        "NoNewPrivileges=yes",
        "PrivateDevices=yes",
        "ProtectKernelTunables=yes",
        "ProtectKernelModules=yes",
        "ProtectKernelLogs=yes",
        "ProtectClock=yes",
        "ProtectHostname=yes",
        "RestrictNamespaces=yes",
        "RestrictRealtime=yes",
        "RestrictSUIDSGID=yes",
        "RestrictAddressFamilies=AF_UNIX",
        "LockPersonality=yes",
        "MemoryDenyWriteExecute=yes",
        "SystemCallArchitectures=native",
        "SystemCallFilter=@system-service",
    ),
    SANDBOX: (
        "RestrictNamespaces=yes",
        "SystemCallFilter=@system-service",
        "ProtectHostname=yes",
        "ProcSubset=pid",
    ),
    "like-sudo-touch /usr/bin/like-sudo": ("ProtectSystem=yes", "ProtectSystem=full"),
    f"[ -e {HOME}/work/x.sh ]": ("ProtectHome=yes", "ProtectHome=tmpfs"),
    "[ -e /tmp/kept ]": ("PrivateTmp=yes",),
    f"like-sudo-touch {HOME}/work/own && like-sudo-chown root:daemon {HOME}/work/own": (
        "CapabilityBoundingSet=~CAP_CHOWN",
    ),
    "[ -e /proc/1/comm ]": ("ProtectProc=invisible",),
    "like-sudo-mkdir /sys/fs/cgroup/tried && like-sudo-rmdir /sys/fs/cgroup/tried": (
        "ProtectControlGroups=yes",
    ),
    WRITABLE_CODE: ("MemoryDenyWriteExecute=yes",),
    "setarch --addr-no-randomize true": ("LockPersonality=yes",),
    f"mkdir -p {HOME}/work/common && chmod g+s {HOME}/work/common": ("RestrictSUIDSGID=yes",),
    "[ -e /dev/fuse ]": ("PrivateDevices=yes",),
}
"""What the unit's comments say each line breaks; each is therefore left out."""


def test_each_line_that_is_left_out_breaks_what_the_unit_says(systemd: Systemd) -> None:
    """Alone, in a service of the same user; without the line each program does what it should."""
    tried = {("", program) for program in BREAKS}
    tried |= {(line, program) for program, lines in BREAKS.items() for line in lines}
    # The run without a line comes last: what a program does then need not be done again.
    backwards = sorted(tried, reverse=True)
    wrong = [one for one in backwards if _works(systemd, *one) == (one[0] != "")]
    assert wrong == []
    left_out = {line.partition("=")[0] for line, _ in tried}
    assert {one for one in left_out if f"{one}=" not in _LEFT_OUT + _NO_SUDO_SYSTEM} == set()


def _works(systemd: Systemd, line: str, program: str) -> bool:
    """Return whether a program succeeds in a service with one more line."""
    (systemd.share / "tried.sh").write_text(f"PATH=/usr/local/bin:$PATH\n{program}\n")
    start = f"ExecStart=/bin/sh {systemd.share}/tried.sh"
    unit = f"[Service]\nType=oneshot\nUser={USER}\n{line}\n{start}\n"
    (systemd.share / "tried.service").write_text(unit)
    script = f"""cp {systemd.share}/tried.service /run/systemd/system/
        systemctl daemon-reload
        systemctl start tried && echo well"""
    return systemd.run("sh", "-c", script, check=False).endswith("well\n")


def test_the_watchdog_restarts_a_gateway_that_hangs(systemd: Systemd) -> None:
    """A stopped gateway is killed after WatchdogSec and restarted; a live one is not."""
    systemd.run(
        "sh",
        "-c",
        "printf '[Service]\\nWatchdogSec=4\\n' > /etc/systemd/system/sayso.service.d/more.conf",
    )
    service = Service(systemd)
    service.install()
    first = service.shows("MainPID")
    systemd.run("sleep", "9")
    assert (service.shows("MainPID"), service.shows("NRestarts")) == (first, "0")
    systemd.run("kill", "-STOP", first)
    wait_until("the restart", lambda: service.shows("NRestarts") == "1", seconds=60)
    wait_until("the next gateway", lambda: service.shows("ActiveState") == "active", seconds=60)


def test_a_user_runs_it_without_root(systemd: Systemd) -> None:
    """The default: a user's service manager, with its own command line and status."""
    uid = systemd.run("id", "-u", USER).strip()
    runtime = f"/run/user/{uid}"
    manager = (
        f"[Service]\nUser={USER}\nDelegate=yes\nEnvironment=XDG_RUNTIME_DIR={runtime}\n"
        "ExecStart=/lib/systemd/systemd --user --unit=sayso-test.target\n"
    )
    (systemd.share / "manager.service").write_text(manager)
    target = f"{HOME}/.config/systemd/user/sayso-test.target"
    script = f"""set -e
        install -d -o {USER} -m 755 /run/sayso
        install -d -o {USER} -m 700 {runtime} {HOME}/.config {HOME}/.config/systemd \
            {HOME}/.config/systemd/user
        echo '[Unit]' > {target}
        cp {systemd.share}/manager.service /etc/systemd/system/
        systemctl daemon-reload
        systemctl start manager"""
    systemd.run("sh", "-c", script)
    as_user = ("env", f"XDG_RUNTIME_DIR={runtime}")

    def user(*words: str, check: bool = True) -> str:
        return systemd.run(*as_user, *words, user=USER, check=check)

    asked = ("systemctl", "--user", "is-system-running")
    wait_until("the manager", lambda: user(*asked, check=False).strip() == "running")
    install, status, _system = (line.split()[1:] for line in typed(PAGE))
    assert "enabled and started" in user(str(SAYSO), *install)
    shown = user(str(SAYSO), *status)
    assert "as this version writes it" in shown
    assert "systemd   active running enabled" in shown
    run = (str(SAYSO), "run", "--cwd", f"{HOME}/work")
    assert user(*run, "--", "/usr/local/bin/like-sudo", "-u").strip() == "0"
    assert "x.sh" in user(*run, "--host", "sandbox", "-c", "ls > list && cat list")
    (remove,) = (line.split()[1:] for line in typed(REMOVAL))
    assert "sayso.service: removed" in user(str(SAYSO), *remove)
    assert "not installed" in user(str(SAYSO), "service", "status", check=False)
