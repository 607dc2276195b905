"""Follow docs/how-to/executors.md as written, with real users and the real sudo; attack it."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/how-to/executors.md"
SECRET = "the-key-of-ann"
FILE = "/usr/local/libexec/sayso-executor"
SAYSO = "/opt/sayso/.venv/bin/sayso"
LINE = re.compile(r"\d+\|")

CONFIG = """
  tools: {exec: {host: "gateway", security: "full", ask: "off"}},
  proof: {every: 3600},
"""
"""Everything runs unasked, so that nothing but the wall between the users can hold."""

SERVE = f"""
mkdir -m 700 /home/ann/.ssh
echo '{SECRET}' > /home/ann/.ssh/id_rsa && chmod 600 /home/ann/.ssh/id_rsa
chown -R ann: /home/ann
as ann env THE_KEY={SECRET}-in-the-environment {SAYSO} serve > /home/ann/log 2>&1 &
gateway=$!
trap 'kill $gateway; wait $gateway || true' EXIT
while ! [ -S /home/ann/.sayso/gateway.sock ] && kill -0 $gateway 2>/dev/null; do sleep 0.1; done
[ -S /home/ann/.sayso/gateway.sock ] || {{ cat /home/ann/log; exit 9; }}
"""


def blocks(language: str) -> list[str]:
    """Return the page's blocks of a language, in their order, without their indentation."""
    fenced = re.compile(rf"^( *)```{language}\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
    found = fenced.findall(PAGE.read_text(encoding="utf-8"))
    return [re.sub(rf"^{indent}", "", text, flags=re.MULTILINE) for indent, text in found]


def as_ann(block: str) -> str:
    """Return a block as ann types it, line by line."""
    return "".join(f"as ann {line}\n" for line in block.strip().splitlines())


def prepared(*, administrator: bool = False) -> str:
    """Return the page's own steps up to a running gateway; ann keeps `sudo` where she is to."""
    setup, user, doctor, folder, run, _undo = blocks("sh")
    (config,) = blocks("json5")
    whole = config.replace("{", "{" + CONFIG, 1)
    keep = "" if administrator else "rm /etc/sudoers.d/ann\n"
    return f"""
cd /
{as_ann(setup)}{as_ann(user)}{as_ann(folder)}{keep}
as ann mkdir -m 700 /home/ann/.sayso
cat > /home/ann/.sayso/config.json5 <<'END'
{whole}END
chown ann: /home/ann/.sayso/config.json5
as ann sh -c {quoted(doctor.strip())}
{SERVE}
as ann sh -c {quoted(run.strip())}
stat -c %U /srv/work/made
set +e
"""


def quoted(text: str) -> str:
    """Quote a text for sh."""
    return "'" + text.replace("'", "'\\''") + "'"


def followed(tmp_path: Path, script: str, *, seconds: int = 170) -> str:
    """Run a script in namespaces of its own; return what it prints."""
    written = tmp_path / "steps.sh"
    written.write_text(script)
    words = ("unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--mount-proc")
    shell = ("sh", "tests/e2e/executors.sh", str(tmp_path), str(ROOT), sys.base_prefix)
    done = subprocess.run(
        [*words, *shell, str(written)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def reported(lines: Iterable[str]) -> str:
    """Return a script that reports each line's status and output in one line."""
    return "".join(
        f'out=$({{ {line}\n }} 2>&1); echo "$?|$(echo "$out" | tr "\\n" " ")"\n' for line in lines
    )


def run(line: str, agent: str = "coder", cwd: str = "/srv/work") -> str:
    """Return the shell command by which ann's gateway runs a line for an agent."""
    return f"as ann {SAYSO} run --agent {agent} --cwd {cwd} --timeout 20 -c {quoted(line)}"


@pytest.fixture(autouse=True)
def _sudo() -> None:
    assert shutil.which("sudo"), "sudo is missing: tests/system_packages.sh installs it"


@pytest.mark.timeout(180)
def test_the_page_as_written(tmp_path: Path) -> None:
    """Setup twice, a user, doctor, a folder, a run; undo twice; doctor says what is missing."""
    undo = blocks("sh")[-1]
    script = prepared(administrator=True) + "kill $gateway; wait $gateway; trap - EXIT\n"
    script += reported(
        [
            f"as ann sudo {SAYSO} executor setup",
            f"as ann sudo {SAYSO} executor setup --json | grep -c true",
            "stat -c '%U %a' /etc/sudoers.d/sayso /usr/local/libexec/sayso-executor",
            "visudo -c",
            f"as ann sudo {SAYSO} executor user add ann",
            f"as ann sudo {SAYSO} executor user add root",
            f"as ann sudo {SAYSO} executor user add 'x ALL=(ALL) ALL'",
            f"as ann {SAYSO} executor setup --gateway-user ann",
            as_ann(undo),
            as_ann(undo),
            f"as ann {SAYSO} doctor executor",
            "ls /etc/sudoers.d /usr/local/libexec; getent group sayso_exec; ls /home",
            f"as ann sudo {SAYSO} executor setup",
            f"as ann sudo {SAYSO} executor undo --delete-users",
            "ls /home",
        ]
    )
    printed = followed(tmp_path, script)
    found = [one for one in printed.splitlines() if LINE.match(one)]
    again, needed, modes, visudo, own, root, evil, unprivileged, *rest = found
    undone, undone_again, doctor, left, _anew, _deleted, homes = rest

    assert "All 8 checks passed." in printed
    assert "\nsayso_alice\nsayso_alice\n" in printed  # whoami, and whose file
    assert "done:" not in again
    assert needed.startswith("1|0")
    assert modes.split() == ["0|root", "440", "root", "755"]
    assert visudo.startswith("0|")
    assert all(one.startswith("2|") for one in (own, root, evil, unprivileged)), found
    assert "isolate nothing" in own + root
    assert "as root" in unprivileged
    assert undone.count("done:") == 5
    assert "done:" not in undone_again
    assert doctor.startswith("1|")
    assert all(word in doctor for word in ("cannot be read", "does not exist", "sayso_exec"))
    assert left.split() == ["0|/etc/sudoers.d:", "README", "ann", "/usr/local/libexec:", *HOMES]
    assert homes.split() == ["0|ann", "sayso_alice"]


HOMES = ("ann", "sayso_alice", "sayso_executor")

EXECUTOR_OF_ALICE = "$(pgrep -u sayso_alice -f sayso-executor | head -n 1)"
EXECUTOR_OF_ANOTHER = "$(pgrep -u sayso_executor -f sayso-executor | head -n 1)"
COMMAND_OF_ANOTHER = "$(pgrep -u sayso_executor -f own.sock | head -n 1)"
GATEWAY = "$(pgrep -u ann -f 'sayso serve' | head -n 1)"
PYTHON = "/usr/bin/python3 -I -c"
CONNECT = (
    f"{PYTHON} \"import socket; s = socket.socket(socket.AF_UNIX); s.connect('%s'); print('in')\""
)


def called(call: str) -> str:
    """Return a command that makes a call of libc's, and says why where it fails (below 0)."""
    return (
        f'{PYTHON} "import ctypes, os; libc = ctypes.CDLL(None, use_errno=True); '
        f"failed = {call} < 0; "
        'raise SystemExit(os.strerror(ctypes.get_errno()) if failed else 0)"'
    )


def traced(pid: str) -> str:
    """Return a command that attaches to a process as a debugger does."""
    return called(f"libc.ptrace(16, {pid}, 0, 0)")


def descriptor_of(pid: str) -> str:
    """Return a command that takes a process's descriptor 3 with pidfd_getfd."""
    return called(f"libc.syscall(438, os.pidfd_open({pid}), 3, 0)")


ATTACKS = (
    # another user's files
    "cat /home/ann/.ssh/id_rsa",
    "ls /home/ann/.ssh",
    "cat /home/ann/.sayso/config.json5",
    "cat /home/ann/.sayso/state.db",
    "cat /home/ann/.sayso/audit.jsonl",
    "ls /home/ann/.sayso",
    "echo evil >> /home/ann/.sayso/audit.jsonl",
    "echo {} > /home/ann/.sayso/exec-approvals.json",
    "touch /home/ann/made",
    "ls /home/sayso_executor",
    "cat /etc/shadow",
    "cat /etc/sudoers.d/sayso",
    "ln /home/ann/.ssh/id_rsa /srv/work/link",
    "ln -s /home/ann/.ssh/id_rsa /srv/work/soft && cat /srv/work/soft",
    "cd /home/ann && cat .ssh/id_rsa",
    "cp /home/ann/.sayso/state.db /tmp/stolen",
    # the gateway
    f"cat /proc/{GATEWAY}/environ",
    f"ls -l /proc/{GATEWAY}/fd",
    f"cat /proc/{GATEWAY}/maps",
    f"head -c 0 /proc/{GATEWAY}/mem",
    f"ls /proc/{GATEWAY}/cwd/",
    f"ls /proc/{GATEWAY}/root/home/ann",
    f"kill -9 {GATEWAY}",
    f"kill -STOP {GATEWAY}",
    f'{PYTHON} "import os, signal; signal.pidfd_send_signal(os.pidfd_open({GATEWAY}), 9)"',
    f"strace -p {GATEWAY} -o /dev/null -e trace=none & sleep 1; kill %1",
    f"renice -n 19 -p {GATEWAY}",
    f'{PYTHON} "import resource; resource.prlimit({GATEWAY}, resource.RLIMIT_NOFILE, (9, 9))"',
    CONNECT % "/home/ann/.sayso/gateway.sock",
    CONNECT % "/home/ann/.sayso/exec-approvals.sock",
    f"HOME=/home/ann {SAYSO} pending",
    f"SAYSO_SOCKET=/home/ann/.sayso/gateway.sock {SAYSO} approve X allow-once",
    # its own executor, from a command that it runs
    f"cat /proc/{EXECUTOR_OF_ALICE}/environ",
    f"ls -l /proc/{EXECUTOR_OF_ALICE}/fd",
    f"head -c 0 /proc/{EXECUTOR_OF_ALICE}/mem",
    "cat /proc/$SUPERVISOR/environ",
    "ls -l /proc/$SUPERVISOR/fd",
    traced(EXECUTOR_OF_ALICE),
    descriptor_of(EXECUTOR_OF_ALICE),
    # another user's executor, at its work
    f"cat /proc/{EXECUTOR_OF_ANOTHER}/environ",
    f"ls -l /proc/{EXECUTOR_OF_ANOTHER}/fd",
    f"cat /proc/{EXECUTOR_OF_ANOTHER}/maps",
    f"head -c 0 /proc/{EXECUTOR_OF_ANOTHER}/mem",
    f"ls /proc/{EXECUTOR_OF_ANOTHER}/cwd/",
    f"cat /proc/{EXECUTOR_OF_ANOTHER}/fd/0",
    f"kill -9 {EXECUTOR_OF_ANOTHER}",
    f"kill -STOP {EXECUTOR_OF_ANOTHER}",
    traced(EXECUTOR_OF_ANOTHER),
    descriptor_of(EXECUTOR_OF_ANOTHER),
    CONNECT % "/home/sayso_executor/own.sock",
    "cat /home/sayso_executor/secret",
    f"cat /proc/{COMMAND_OF_ANOTHER}/environ",
    f"kill -9 {COMMAND_OF_ANOTHER}",
    traced(COMMAND_OF_ANOTHER),
    # another right
    "sudo -n id",
    f"sudo -n -u ann {FILE}",
    f"sudo -n -u sayso_executor {FILE}",
    "su ann -c id </dev/null",
    f"{PYTHON} 'import os; os.setuid(0)'",
    f"{PYTHON} 'import os; os.setgroups([0])'",
    f"{PYTHON} \"import os; os.chown('/srv/work/made', 0, 0)\"",
    "cp /bin/sh /srv/work/rootsh && chown root /srv/work/rootsh",
    f"echo evil > {FILE}",
    f"mv {FILE} {FILE}.old",
    "echo evil > /etc/sudoers.d/evil",
    "mount -t tmpfs none /mnt",
    "chroot / true",
)
"""What an agent's command tries; each must fail, and show no secret."""

BOUNDARY = "Permission denied|Operation not permitted"
REASONS = {
    "as ann sudo ": "a password is required|is not allowed to execute|you are not allowed to set",
    "sudo -n ": "no new privileges",
    "su ann ": "Authentication failure",
    "mount ": "must be superuser",
}
"""Why an attempt fails where it is not the rights of files and processes, by its beginning."""

HARMLESS = re.compile(r"(cat|ls|head) (?!.*(SUPERVISOR|fd/0))|/usr/bin/python3.*(connect|libc)")
"""Attempts that change nothing: root makes the same ones, and nothing but its rights differs."""

LISTEN = (
    f'{PYTHON} "import socket, time; s = socket.socket(socket.AF_UNIX); '
    "s.bind('/home/ann/.sayso/exec-approvals.sock'); s.listen(); time.sleep(200)\""
)
"""A socket where another program may listen for this gateway: there has to be one to attack."""

ANOTHER = (
    f"sh -c 'echo {SECRET}-of-another > /home/sayso_executor/secret' && {PYTHON} "
    '"import socket, time; s = socket.socket(socket.AF_UNIX); '
    "s.bind('/home/sayso_executor/own.sock'); s.listen(); time.sleep(200)\""
)
"""What the other agent runs meanwhile, with a secret and a socket of its own."""

OF_ANN = (
    f"as ann sudo -n -u root {FILE} </dev/null",
    f"as ann sudo -n -u ann {FILE} </dev/null",
    f"as ann sudo -n -u nobody {FILE} </dev/null",
    f"as ann sudo -n -u sayso_alice {FILE} --socket /tmp/x",
    f"as ann sudo -n -u sayso_alice {FILE} -x",
    "as ann sudo -n -u sayso_alice /bin/sh -c id",
    "as ann sudo -n -u sayso_alice -s",
    "as ann sudo -n -g root /bin/id",
    f"as ann sudo -n -u sayso_alice PYTHONPATH=/tmp {FILE} </dev/null | grep -v descriptor",
    "as ann sudo -n -e /etc/passwd",
)
"""What the gateway's own user tries with the rule; nothing but the one command may pass."""


def reason(line: str) -> str:
    """Return what an attempt has to be refused with: the boundary, not a mistake in the attempt."""
    found = [words for begin, words in REASONS.items() if line.startswith(begin)]
    return found[0] if found else BOUNDARY


CONTROLS = (
    run("id -un"),
    run("id -un", agent="other"),
    run("id -un; umask; pwd; cat /srv/work/made"),
    f"cat /home/ann/.ssh/id_rsa; tr '\\0' '\\n' < /proc/{GATEWAY}/environ | grep THE_KEY",
    f"as ann sudo -n -u sayso_alice {FILE} </dev/null",
)


def attacked() -> str:
    """Return the script: controls, another's executor at work, attempts, root's same attempts."""
    attempts = "SUPERVISOR=$PPID; export SUPERVISOR\n"
    attempts += reported(f"sh -c {quoted(one)}" for one in ATTACKS)
    roots = reported(f"sh -c {quoted(one)}" for one in ATTACKS if HARMLESS.match(one))
    return f"""{prepared()}{reported(CONTROLS)}
{run(ANOTHER, agent="other").replace("--timeout 20", "--timeout 200")} &
another=$!
while ! [ -S /home/sayso_executor/own.sock ] && kill -0 $another; do sleep 0.1; done
as ann {LISTEN} &
while ! [ -S /home/ann/.sayso/exec-approvals.sock ] && kill -0 $!; do sleep 0.1; done
cat > /srv/work/attacks.sh <<'END'
{attempts}touch /srv/work/finished
while ! [ -e /srv/work/over ]; do sleep 0.1; done
END
as ann {SAYSO} run --agent coder --cwd /srv/work --timeout 150 -c 'sh attacks.sh' > /home/tried &
alice=$!
while ! [ -e /srv/work/finished ] && kill -0 $alice; do sleep 0.1; done
{roots}touch /srv/work/over
wait $alice
cat /home/tried
{reported(OF_ANN)}
pgrep -u sayso_executor -f own.sock > /dev/null && echo another is alive
pgrep -u ann -f 'sayso serve' > /dev/null && echo alive
ls /home/ann/made /tmp/stolen 2> /dev/null
true
"""


@pytest.mark.timeout(300)
def test_the_wall_between_the_users_holds(tmp_path: Path) -> None:
    """Each attempt is refused by the boundary; root makes those that change nothing, and may.

    S2 "cannot access other users' files", "executor isolation": an agent's command attacks the
    gateway, its own executor, and another user's executor and command at their work.
    """
    printed = followed(tmp_path, attacked(), seconds=280)
    found = [one for one in printed.splitlines() if LINE.match(one)]
    alice, other, works, secrets, started = found[: len(CONTROLS)]
    harmless = [one for one in ATTACKS if HARMLESS.match(one)]
    roots = found[len(CONTROLS) :][: len(harmless)]
    refused = found[len(CONTROLS) + len(harmless) :]

    assert [one.strip() for one in (alice, other, works)] == [
        "0|sayso_alice",
        "0|sayso_executor",
        "0|sayso_alice 0022 /srv/work",
    ]
    assert secrets.count(SECRET) == 2
    assert "descriptor 0 is not a socket" in started  # sudo let it start
    for line, answer in zip((*ATTACKS, *OF_ANN), refused, strict=True):
        assert not answer.startswith("0|"), (line, answer)
        assert re.search(reason(line), answer), (line, answer)
        assert SECRET not in answer, (line, answer)
    for line, answer in zip(harmless, roots, strict=True):
        assert answer.startswith("0|"), (line, answer)
    assert len(harmless) >= 30
    assert printed.splitlines()[-2:] == ["another is alive", "alive"]  # and neither file was made


@pytest.mark.timeout(180)
def test_without_executors_the_same_lines_succeed(tmp_path: Path) -> None:
    """The negative control: as the gateway's own user, nothing holds these commands."""
    off = prepared().replace("runAsUnixUser: true", "runAsUnixUser: false")
    off = off.replace("stat -c %U /srv/work/made", "").replace("touch made", "true")
    off = off.replace(as_ann(blocks("sh")[2]), "")
    lines = [
        run("cat /home/ann/.ssh/id_rsa"),
        run("ls /home/ann/.sayso"),
        run(f"cat /proc/{GATEWAY}/environ | tr '\\0' '\\n' | grep THE_KEY"),
        run("id -un"),
    ]
    found = [
        one for one in followed(tmp_path, off + reported(lines)).splitlines() if LINE.match(one)
    ]

    assert all(one.startswith("0|") for one in found), found
    assert SECRET in found[0]
    assert "state.db" in found[1]
    assert SECRET in found[2]
    assert found[3].strip() == "0|ann"
