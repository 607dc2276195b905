"""Sandbox commands of agents that have a Unix user: bubblewrap as that user, in its executor."""

from pathlib import Path

import pytest

from tests.support.executor_page import (
    EXECUTORS,
    LINE,
    SECRET,
    as_ann,
    blocks,
    followed,
    prepared,
    reported,
    run,
)

PYTHON = "/usr/bin/python3 -I -c"
WORKS = (
    "id -un; umask; pwd",
    "echo made > made && stat -c %U made",
    "echo one > /tmp/shared && cat /tmp/shared; mkdir -p /tmp/deep/er; ls -A /tmp",
    "ls -A /tmp; grep -c : /proc/net/dev; grep -E 'CapEff|Seccomp:|NoNewPrivs' /proc/self/status",
)
ATTACKS = (
    "cat /home/ann/.ssh/id_rsa",
    "ls /home/ann",
    "cat /home/sayso_alice/secret",
    "ls /home/sayso_alice/.sayso-sandbox",
    "cat /home/sayso_executor/secret",
    "touch /opt/made",
    f"{PYTHON} \"import os; open('suid', 'w'); os.chmod('suid', 0o4755)\"",
    f"{PYTHON} \"import os; os.mkdir('sgid'); os.chmod('sgid', 0o2775)\"",
    f"{PYTHON} \"import socket; socket.socket(socket.AF_UNIX).connect('/srv/work/other.sock')\"",
    f"{PYTHON} \"import socket; socket.socket(socket.AF_UNIX).connect('/srv/open/gate.sock')\"",
    f"{PYTHON} \"import socket; socket.socket(socket.AF_UNIX).connect('\\0other')\"",
    f"{PYTHON} \"import socket; socket.create_connection(('127.0.0.1', 8993), 3)\"",
    "pgrep -u sayso_executor",
    "kill -9 $(pgrep -u sayso_executor | head -n 1)",
    "sudo -n -u sayso_executor /usr/local/libexec/sayso-executor </dev/null",
    "unshare --user --map-root-user true",
)
"""Each must fail inside; outside, as the same user or without a sandbox, each succeeds."""
OUTSIDE = (
    "cat /home/sayso_alice/secret",
    f"{PYTHON} \"import os; open('suid', 'w'); os.chmod('suid', 0o4755)\"",
    f"{PYTHON} \"import socket; socket.socket(socket.AF_UNIX).connect('/srv/work/other.sock')\"",
    f"{PYTHON} \"import socket; socket.socket(socket.AF_UNIX).connect('\\0other')\"",
    f"{PYTHON} \"import socket; socket.create_connection(('127.0.0.1', 8993), 3)\"",
    "pgrep -u sayso_executor",
)
"""The controls: what only the sandbox forbids, run in an executor without one."""
LEFT = (
    "ls -A /home/sayso_alice/.sayso-sandbox",
    "ls -A /home/ann/.sayso/sandbox 2>/dev/null | grep -v spare",
    "stat -c '%U %a' /home/sayso_alice/.sayso-sandbox",
)
SERVER = """
import os, socket
made = []
for name in ("/srv/work/other.sock", "\\0other"):
    made.append(socket.socket(socket.AF_UNIX)); made[-1].bind(name); made[-1].listen(9)
os.chmod("/srv/work/other.sock", 0o777)
made.append(socket.create_server(("127.0.0.1", 8993)))
open("/srv/work/serving", "w")
import time; time.sleep(200)
"""


def inside(line: str, host: str = "sandbox") -> str:
    """Return the command that runs a line on a host for the agent."""
    return run(line).replace(" run ", f" run --host {host} ", 1)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_bubblewrap_as_that_user(tmp_path: Path) -> None:
    """It works as the user and holds; leftovers of a run are removed; another user's rules hold."""
    lines = [inside(line) for line in (*WORKS, *ATTACKS)] + [
        inside(one, "gateway") for one in OUTSIDE
    ]
    everybodys = "install -d -o sayso_alice -g sayso_alice -m 2775 /srv/work\n"
    steps = prepared(host="sandbox").replace(as_ann(blocks(EXECUTORS, "sh")[3]), everybodys)
    script = f"""{steps}
for user in sayso_alice sayso_executor; do
    echo {SECRET} > /home/$user/secret
    chown $user: /home/$user/secret
    chmod 600 /home/$user/secret
done
cat > /srv/server.py <<'END'
{SERVER}END
setpriv --reuid sayso_executor --regid sayso_alice --clear-groups {PYTHON} "$(cat /srv/server.py)" &
server=$!
while ! [ -e /srv/work/serving ] && kill -0 $server; do sleep 0.1; done
{reported(lines)}
{reported(LEFT)}
kill $server
true
"""
    printed = followed(tmp_path, script, seconds=580)
    found = [one for one in printed.splitlines() if LINE.match(one)]
    works = found[: len(WORKS)]
    attacks = found[len(WORKS) : len(WORKS) + len(ATTACKS)]
    outside = found[len(WORKS) + len(ATTACKS) :][: len(OUTSIDE)]
    left, own, closed = found[-3:]

    assert works[0].split() == ["0|sayso_alice", "0022", "/srv/work"], printed
    assert works[1].split() == ["0|sayso_alice"]
    assert works[2].split() == ["0|one", "deep", "shared"]
    assert works[3].startswith("0|"), works[3]
    assert "shared" not in works[3]
    assert "0000000000000000" in works[3]
    for line, answer in zip(ATTACKS, attacks, strict=True):
        assert not answer.startswith("0|"), (line, answer)
        assert SECRET not in answer, (line, answer)
    assert all(one.startswith("0|") for one in outside), outside
    assert left.strip() == "0|"
    assert own.strip() == "1|"
    assert closed.split() == ["0|sayso_alice", "700"]
