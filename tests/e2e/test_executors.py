"""Follow docs/how-to/executors.md as written, with real users and the real sudo; attack it."""

import re
import shutil
from pathlib import Path

import pytest

from tests.support.executor_page import (
    DELEGATED,
    EXECUTORS,
    LEAVE,
    LINE,
    SAYSO,
    SECRET,
    as_ann,
    blocks,
    followed,
    prepared,
    quoted,
    reported,
    run,
)

FILE = "/usr/local/libexec/sayso-executor"


@pytest.fixture(autouse=True)
def _sudo() -> None:
    assert shutil.which("sudo"), "sudo is missing: tests/system_packages.sh installs it"


WORKSPACE = f"as ann sudo {SAYSO} executor workspace"
SHARED_ALREADY = "nothing to do: share /srv/work between ann and sayso_alice"
SHARED = (
    # each changes what the other made, whatever its umask
    "as ann sh -c 'umask 077; cd /srv/work; echo more >> made; mkdir d; echo > d/ann; cat made'",
    "as sayso_alice sh -c 'cd /srv/work; echo more > d/ann; echo > d/alice; cat d/ann'",
    "stat -c '%U %a' /srv/work",
    "stat -c '%U %a' /srv/work/d/ann",
    "stat -c '%U %a' /srv/work/d/alice",
    f"{WORKSPACE} /srv/work --user sayso_alice",
    # no one else does anything; the last is what a group would give the gateway's user
    "as sayso_executor ls /srv/work",
    "as sayso_executor touch /srv/work/x",
    "setpriv --reuid nobody --regid sayso_alice --clear-groups cat /srv/work/made",
    "install -d -o sayso_alice -g sayso_alice -m 2775 /srv/group; as ann touch /srv/group/x",
    f"chmod 700 /home/ann; {WORKSPACE} /home/ann/work --user sayso_alice",
    f"{WORKSPACE} /tmp/../srv/work --user sayso_alice",
    f"{WORKSPACE} /srv/none/work --user sayso_alice",
    f"{WORKSPACE} /srv/other --user ann",
    f"{WORKSPACE} /srv/other --user sayso_nobody",
    "mkdir /srv/full; touch /srv/full/x; " + f"{WORKSPACE} /srv/full --user sayso_alice",
)


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_the_page_as_written(tmp_path: Path) -> None:
    """Setup twice, a user, doctor, a folder, a run; undo twice; doctor says what is missing."""
    undo = blocks(EXECUTORS, "sh")[-1]
    script = prepared(administrator=True) + "kill $gateway; wait $gateway; trap - EXIT\n"
    script += reported(SHARED)
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
    printed = followed(tmp_path, script, seconds=380)
    found = [one for one in printed.splitlines() if LINE.match(one)]
    shared, found = found[: len(SHARED)], found[len(SHARED) :]
    again, needed, modes, visudo, own, root, evil, unprivileged, *rest = found
    undone, undone_again, doctor, left, _anew, _deleted, homes = rest

    assert "All 9 checks passed." in printed
    assert "\nsayso_alice\nsayso_alice\n" in printed  # whoami, and whose file
    assert [one.rstrip() for one in shared[:6]] == [
        *("0|more", "0|more"),
        *("0|sayso_alice 770", "0|ann 660", "0|sayso_alice 660"),
        f"0|{SHARED_ALREADY}",
    ]
    assert all("Permission denied" in one for one in shared[6:10]), shared
    assert [one for one in shared[10:] if not one.startswith("2|")] == []
    assert "setfacl -R" in shared[-1]
    assert "done:" not in again
    assert needed.startswith("1|0")
    assert modes.split() == ["0|root", "440", "root", "755"]
    assert visudo.startswith("0|")
    assert all(one.startswith("2|") for one in (own, root, evil, unprivileged)), found
    assert "isolate nothing" in own + root
    assert "as root" in unprivileged
    assert undone.count("done:") == 6
    assert "done:" not in undone_again
    assert doctor.startswith("1|")
    assert all(word in doctor for word in ("cannot be read", "does not exist", "sayso_exec"))
    assert left.split() == ["0|/etc/sudoers.d:", "README", "ann", "/usr/local/libexec:", *HOMES]
    assert homes.split() == ["0|ann", "sayso_alice"]


HOMES = ("ann", "sayso_alice", "sayso_executor")

EXECUTOR_OF_ALICE = "$(pgrep -u sayso_alice -f sayso-executor | head -n 1)"
EXECUTOR_OF_OTHER = "$(pgrep -u sayso_executor -f sayso-executor | head -n 1)"
COMMAND_OF_OTHER = "$(pgrep -u sayso_executor -x sleep | head -n 1)"
GATEWAY = "$(pgrep -u ann -f 'sayso serve' | head -n 1)"
PYTHON = "/usr/bin/python3 -I -c"
CONNECT = (
    f"{PYTHON} \"import socket; s = socket.socket(socket.AF_UNIX); s.connect('%s'); print('in')\""
)


def ptrace(pid: str) -> str:
    """Return a line that attaches to a process."""
    return (
        f'{PYTHON} "import ctypes, os; libc = ctypes.CDLL(None, use_errno=True); '
        f"failed = libc.ptrace(16, {pid}, 0, 0); "
        'raise SystemExit(os.strerror(ctypes.get_errno()) if failed else 0)"'
    )


def steal_descriptor(pid: str) -> str:
    """Return a line that takes a copy of a process's descriptor 3."""
    return (
        f'{PYTHON} "import ctypes, os; libc = ctypes.CDLL(None, use_errno=True); '
        f"fd = libc.syscall(438, os.pidfd_open({pid}), 3, 0); "
        'raise SystemExit(os.strerror(ctypes.get_errno()) if fd < 0 else 0)"'
    )


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
    f"head -c 10 /proc/{GATEWAY}/mem",
    f"ls /proc/{GATEWAY}/cwd/",
    f"ls /proc/{GATEWAY}/root/home/ann",
    f"kill -9 {GATEWAY}",
    f"kill -STOP {GATEWAY}",
    f'{PYTHON} "import os, signal; signal.pidfd_send_signal(os.pidfd_open({GATEWAY}), 9)"',
    f"timeout 5 strace -p {GATEWAY} -o /dev/null -e trace=none",
    f"renice -n 19 -p {GATEWAY}",
    f'{PYTHON} "import resource; resource.prlimit({GATEWAY}, resource.RLIMIT_NOFILE, (9, 9))"',
    CONNECT % "/home/ann/.sayso/gateway.sock",
    CONNECT % "/home/ann/.sayso/exec-approvals.sock",
    f"HOME=/home/ann {SAYSO} pending",
    f"SAYSO_SOCKET=/home/ann/.sayso/gateway.sock {SAYSO} approve X allow-once",
    # its own executor, from a command that it runs
    f"cat /proc/{EXECUTOR_OF_ALICE}/environ",
    f"ls -l /proc/{EXECUTOR_OF_ALICE}/fd",
    f"head -c 10 /proc/{EXECUTOR_OF_ALICE}/mem",
    "cat /proc/$SUPERVISOR/environ",
    "ls -l /proc/$SUPERVISOR/fd",
    ptrace(EXECUTOR_OF_ALICE),
    steal_descriptor(EXECUTOR_OF_ALICE),
    # the executor of another user, and the command that it runs
    f"cat /proc/{EXECUTOR_OF_OTHER}/environ",
    f"ls -l /proc/{EXECUTOR_OF_OTHER}/fd",
    f"head -c 10 /proc/{EXECUTOR_OF_OTHER}/mem",
    f"kill -9 {EXECUTOR_OF_OTHER}",
    ptrace(EXECUTOR_OF_OTHER),
    steal_descriptor(EXECUTOR_OF_OTHER),
    f"cat /proc/{COMMAND_OF_OTHER}/environ",
    f"head -c 10 /proc/{COMMAND_OF_OTHER}/mem",
    f"kill -9 {COMMAND_OF_OTHER}",
    ptrace(COMMAND_OF_OTHER),
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
    f"{FILE} --socket /srv/work/x.sock",
    f"{FILE} </dev/null",
    # out of its cgroup
    "echo $$ > /mnt/cgroups/cgroup.procs",
    "cd /mnt/cgroups$(sed -n s/^0:://p /proc/self/cgroup) && echo $$ > ../cgroup.procs",
    "cd /mnt/cgroups$(sed -n s/^0:://p /proc/self/cgroup) && mkdir inner",
    "cd /mnt/cgroups$(sed -n s/^0:://p /proc/self/cgroup) && echo $$ > cgroup.procs",
)
"""What an agent's command tries; each must fail, and show no secret."""

OF_ANN = (
    f"as ann sudo -n -u root {FILE} </dev/null",
    f"as ann sudo -n -u ann {FILE} </dev/null",
    f"as ann sudo -n -u nobody {FILE} </dev/null",
    f"as ann sudo -n -u sayso_alice {FILE} --socket /tmp/x",
    f"as ann sudo -n -u sayso_alice {FILE} -x",
    "as ann sudo -n -u sayso_alice /bin/sh -c id",
    "as ann sudo -n -u sayso_alice -s",
    "as ann sudo -n -g root /bin/id",
    f"as ann sudo -n -u sayso_alice PYTHONPATH=/tmp {FILE} </dev/null",
    "as ann sudo -n -e /etc/passwd",
)
"""What the gateway's own user tries with the rule; only the one command may pass."""


OTHERWISE = {
    "sudo -n id": "no new privileges",
    f"sudo -n -u ann {FILE}": "no new privileges",
    f"sudo -n -u sayso_executor {FILE}": "no new privileges",
    "su ann -c id </dev/null": "Authentication failure",
    "mount -t tmpfs none /mnt": "must be superuser",
    f"{FILE} --socket /srv/work/x.sock": "must be a folder of this user's",
    f"{FILE} </dev/null": "descriptor 0 is not a socket",
    OF_ANN[1]: "is not allowed to execute",
    OF_ANN[8]: "not allowed to set the following environment variables: PYTHONPATH",
}
"""The reasons of those that the kernel does not refuse, or not in its own words."""
_OF_KERNEL = re.compile("Permission denied|Operation not permitted")


def reason(line: str) -> re.Pattern[str]:
    """Return the words showing that the boundary refused a line, and not a typing error in it."""
    if line in OTHERWISE:
        return re.compile(re.escape(OTHERWISE[line]))
    return re.compile("a password is required") if line in OF_ANN else _OF_KERNEL


TRACER = "/usr/bin/python3 -I /opt/sayso/tests/support/tracer.py"
STARTS = f"""
traced() {{ # traced STARTS: start so many while a process of alice attaches to whatever it can
    sleep 170 | as sayso_alice {TRACER} > /srv/traced &
    while ! grep -q ready /srv/traced; do sleep 0.1; done
    for _ in $(seq "$1"); do
        if grep -q "^in " /srv/traced; then break; fi
        as ann sudo -n -u sayso_alice {FILE} </dev/null 2>/dev/null
    done
    pkill -u sayso_alice -f tracer.py
    echo "attached: $(grep -c '^in ' /srv/traced); refused: $(grep -c '^refused ' /srv/traced)"
}}
traced 10
sed -i '1s|.*|#!/usr/bin/python3 -ISXutf8|' {FILE}
traced 100
"""
"""Attacks on executors that start: as they are, and with a Python that every user may read."""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_wall_between_the_users_holds(tmp_path: Path) -> None:
    """What an agent's command and the gateway's user try is refused; the controls succeed."""
    controls = [
        run("id -un"),
        run("id -un", agent="other"),
        run("id -un; umask; pwd; cat /srv/work/made"),
        f"cat /home/ann/.ssh/id_rsa; tr '\\0' '\\n' < /proc/{GATEWAY}/environ | grep THE_KEY",
        f"as ann sudo -n -u sayso_alice {FILE} </dev/null",
        run("sed -n s/^0:://p /proc/self/cgroup"),
        f"as ann {SAYSO} doctor executor",
    ]
    attacks = "SUPERVISOR=$PPID; export SUPERVISOR\n"
    attacks += reported(f"sh -c {quoted(one)}" for one in ATTACKS)
    script = f"""{DELEGATED}{prepared()}{reported(controls)}
cat > /srv/work/attacks.sh <<'END'
{attacks}END
chmod g-w /srv/work/attacks.sh
{run("exec sleep 160", agent="other", seconds=160)} > /dev/null 2>&1 &
while ! pgrep -u sayso_executor -x sleep > /dev/null; do sleep 0.1; done
as ann {SAYSO} run --agent coder --cwd /srv/work --timeout 150 -c 'sh attacks.sh'
pgrep -u sayso_executor -x sleep > /dev/null && echo unharmed
{reported(OF_ANN)}{STARTS}
pgrep -u ann -f 'sayso serve' > /dev/null && echo alive
ls /home/ann/made /tmp/stolen 2> /dev/null
{LEAVE}
"""
    printed = followed(tmp_path, script, seconds=580)
    found = [one for one in printed.splitlines() if LINE.match(one)]
    alice, other, works, secrets, started, cgroup, doctor = found[: len(controls)]
    refused = found[len(controls) :]

    assert [one.strip() for one in (alice, other, works)] == [
        "0|sayso_alice",
        "0|sayso_executor",
        "0|sayso_alice 0022 /srv/work",
    ]
    assert secrets.count(SECRET) == 2
    assert "descriptor 0 is not a socket" in started  # sudo let it start
    assert re.fullmatch(r"0\|/sayso-e2e-\d+/sayso-\d+-\d+-\d+-[0-9a-f]{16} ", cgroup)
    assert "the gateway makes one for each executor" in doctor
    assert len(refused) == len(ATTACKS) + len(OF_ANN) >= 60
    for line, answer in zip((*ATTACKS, *OF_ANN), refused, strict=True):
        assert not answer.startswith("0|"), (line, answer)
        assert SECRET not in answer, (line, answer)
        assert reason(line).search(answer), (line, answer)
    assert "unharmed" in printed.splitlines()
    as_it_is, control = [one for one in printed.splitlines() if one.startswith("attached: ")]
    assert re.fullmatch("attached: 0; refused: [1-9][0-9]*", as_it_is)
    assert control.startswith("attached: 1;"), control
    assert printed.splitlines()[-1] == "alive"  # and neither file was made


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.timeout(180)
def test_without_executors_the_same_lines_succeed(tmp_path: Path) -> None:
    """The negative control: as the gateway's own user, nothing holds these commands."""
    off = prepared().replace("runAsUnixUser: true", "runAsUnixUser: false")
    off = off.replace("stat -c %U /srv/work/made", "").replace("touch made", "true")
    off = off.replace(as_ann(blocks(EXECUTORS, "sh")[2]), "")
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
