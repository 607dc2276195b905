"""Set up docs/how-to/agents-as-another-user.md as it is written, with real users, and attack it."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/how-to/agents-as-another-user.md"
SECRET = "the-key-of-ann"
SAYSO = "/opt/sayso/.venv/bin/sayso"

CONFIG = """
  tools: {exec: {host: "gateway", security: "full", ask: "off"}},
  proof: {every: 3600},
"""
"""Everything runs without asking, so that only the wall between the users can hold."""


def blocks(language: str) -> list[str]:
    """Return the page's code blocks of a language, in order, without their indentation."""
    fenced = re.compile(rf"^( *)```{language}\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
    found = fenced.findall(PAGE.read_text(encoding="utf-8"))
    return [re.sub(rf"^{indent}", "", text, flags=re.MULTILINE) for indent, text in found]


def steps(script: str, settings: str = CONFIG) -> str:
    """Return the page's own steps up to a running gateway, then more of a test's."""
    users, private, folders, _start, _check = blocks("sh")
    (config,) = blocks("json5")
    whole = config.replace("{", "{" + settings, 1)
    return f"""
mkdir -m 700 /home/ann/.sayso /home/ann/.ssh
echo '{SECRET}' > /home/ann/.ssh/id_rsa && chmod 600 /home/ann/.ssh/id_rsa
cat > /home/ann/.sayso/config.json5 <<'END'
{whole}END
chown -R ann: /home/ann
{users}
HOME=/home/ann
{private}
{folders}
as_ann {SAYSO} serve > /home/ann/log 2>&1 &
gateway=$!
trap 'kill $gateway; wait $gateway || true' EXIT
while ! [ -S /run/sayso/agents.sock ] && kill -0 $gateway 2>/dev/null; do sleep 0.1; done
[ -S /run/sayso/agents.sock ] || {{ cat /home/ann/log; exit 9; }}
set +e
{script}
"""


def followed(tmp_path: Path, script: str, settings: str = CONFIG) -> str:
    """Follow the page in new namespaces, then run a script; return what it prints."""
    written = tmp_path / "steps.sh"
    written.write_text(steps(script, settings))
    words = ("unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--mount-proc")
    shell = ("sh", "tests/e2e/another_user.sh", str(tmp_path), str(ROOT), sys.base_prefix)
    done = subprocess.run(
        [*words, *shell, str(written)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def reported(line: str) -> str:
    """Return a shell command that runs a line and reports its status and output."""
    return f'out=$({{ {line}; }} 2>&1); echo "$? $(echo "$out" | tr "\\n" " ")"\n'


@pytest.mark.timeout(180)
def test_the_wall_between_the_users_holds(tmp_path: Path) -> None:
    """The page's own example runs as ann; each line that must fail fails and shows no secret."""
    *_prepared, start, check = blocks("sh")
    lines = check.splitlines()
    printed = followed(tmp_path, "".join(map(reported, (start.strip(), *lines)))).splitlines()
    ran, *refused = [one for one in printed if re.match(r"\d+ ", one)]

    assert ran.split() == ["0", "/srv/work"]
    assert len(refused) == len(lines) >= 6
    for line, answer in zip(lines, refused, strict=True):
        assert not answer.startswith("0 "), (line, answer)
        assert SECRET not in answer, line
    named = ("Permission denied", "bound to coder", "not listed in intake.unix")
    assert all(any(word in answer for answer in refused) for word in named), refused


ATTACKS: dict[str, dict[str, object]] = {
    "exec.run": {"command": "id -un", "cwd": "/srv/work", "agent": "main"},
    "exec.approval.request": {"command": "id -un", "cwd": "/srv/work", "agent": "main"},
    "tool.call": {"tool": "Exec", "args": {"command": ["id"]}, "agent": "main"},
    "events.drain": {"session": "main", "agent": "main"},
    "exec.approval.resolve": {"id": "x", "decision": "allow-once"},
    "exec.approvals.set": {"file": {}},
    "exec.approvals.get": {},
    "grants.revoke": {"id": "x"},
    "token.create": {"name": "x", "scopes": ["admin"]},
    "people.list": {},
    "history.list": {},
    "lockdown.lift": {},
    "lockdown.engage": {},
    "exec.remote.sessions": {},
    "exec.remote.run": {"agent": "x", "argv": ["id"]},
}
"""Calls that an agent's user may not make, by method."""


def frame(method: str, params: object) -> str:
    """Return a request as sent."""
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})


CALL = (
    "import socket, sys; s = socket.socket(socket.AF_UNIX); s.settimeout(20); "
    "s.connect('/run/sayso/agents.sock'); s.sendall(sys.argv[1].encode() + b'\\n'); "
    "print(s.makefile().readline())"
)


@pytest.mark.timeout(180)
def test_the_shared_socket_gives_no_other_right(tmp_path: Path) -> None:
    """No method but its own agents' requests is open there, regardless of the frame."""
    allowed = frame("exec.run", {**ATTACKS["exec.run"], "agent": "coder"})
    frames = [*(frame(method, params) for method, params in ATTACKS.items()), allowed]
    calls = [f"sudo -u agent /usr/bin/python3 -I -c \"{CALL}\" '{one}'" for one in frames]
    printed = followed(tmp_path, "".join(map(reported, calls))).splitlines()
    *refused, ran = [one for one in printed if re.match(r"\d+ ", one)]

    for name, answer in zip(ATTACKS, refused, strict=True):
        assert '"type":"Forbidden"' in answer, (name, answer)
    assert '"output":"ann' in ran


@pytest.mark.timeout(180)
def test_without_the_wall_the_same_lines_succeed(tmp_path: Path) -> None:
    """The negative control: as ann herself, on the owner's socket, nothing holds them."""
    lines = (
        f"as_ann {SAYSO} run --cwd /srv/work --stdin-file /home/ann/.ssh/id_rsa -- cat",
        f"as_ann {SAYSO} run --cwd /srv/work --agent main -c 'id -un'",
    )
    printed = followed(tmp_path, "".join(map(reported, lines))).splitlines()

    assert [one.split() for one in printed if re.match(r"\d+ ", one)] == [
        ["0", SECRET],
        ["0", "ann"],
    ]


PRIVATE = """
install -d -o ann /srv/closed
as_ann mkdir -p -m 700 /home/ann/Documents /home/ann/bin /home/ann/open /srv/closed/work
as_ann sh -c 'echo the-key-of-ann | tee /home/ann/Documents/diary > /srv/closed/work/f'
chmod 755 /home/ann /home/ann/open; chmod 700 /srv/closed; chmod 777 /srv/closed/work
sudo -u agent ln -s /home/ann/Documents /srv/work/link
"""
FOLDERS = (
    "/home/ann/Documents",
    "/home/ann/bin",
    "/home/ann/open",
    "/srv/closed/work",
    "/srv",
    "/srv/work/link",
    "/srv/work/../../home/ann/Documents",
    "/proc/self/root/home/ann/Documents",
)
"""Folders closed to agent, or that it may not write to; ann may change most of them."""
HOSTILE = "cat diary f; echo hi > made"


@pytest.mark.timeout(180)
def test_the_sandbox_lends_no_folder_that_is_closed_to_who_asks(tmp_path: Path) -> None:
    """Sandboxed commands run without asking, as ann: agent names its own folders only."""
    runs = [f"sudo -u agent {SAYSO} run --cwd {one} -c '{HOSTILE}'" for one in FOLDERS]
    works = f"sudo -u agent {SAYSO} run --cwd /srv/work -c 'echo hi > made; cat made'"
    left = "find /home/ann /srv/closed /srv -name made"
    printed = followed(tmp_path, PRIVATE + "".join(map(reported, (*runs, works, left))), "\n")
    *refused, ran, found = [one for one in printed.splitlines() if re.match(r"\d+ ", one)]

    assert len(refused) == len(FOLDERS)
    for folder, answer in zip(FOLDERS, refused, strict=True):
        assert "bad_cwd" in answer, (folder, answer)
        assert "may not change it itself" in answer, (folder, answer)
        assert SECRET not in answer
    assert ran.split() == ["0", "hi"]
    assert found.split() == ["0", "/srv/work/made"]


@pytest.mark.timeout(180)
def test_ann_herself_may_name_these_folders(tmp_path: Path) -> None:
    """The negative control: the same lines on the owner's socket read and write there."""
    runs = [f"as_ann {SAYSO} run --cwd {one} -c '{HOSTILE}'" for one in FOLDERS[:2]]
    left = "cat /home/ann/Documents/made /home/ann/bin/made"
    printed = followed(tmp_path, PRIVATE + "".join(map(reported, (*runs, left))), "\n")
    first, _second, found = [one for one in printed.splitlines() if re.match(r"\d+ ", one)]

    assert SECRET in first
    assert found.split() == ["0", "hi", "hi"]
