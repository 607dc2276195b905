"""Follow a page about executors with real users and the real sudo, in new namespaces."""

import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXECUTORS = ROOT / "docs/how-to/executors.md"
SAYSO = "/opt/sayso/.venv/bin/sayso"
LINE = re.compile(r"\d+\|")
SECRET = "the-key-of-ann"

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
UNASKED = """
  tools: {{exec: {{host: "{}", security: "full", ask: "off"}}}},
  proof: {{every: 3600}},
"""
DELEGATED = """
mount -t tmpfs none /mnt && mkdir /mnt/cgroups && mount -t cgroup2 none /mnt/cgroups
own=/mnt/cgroups/sayso-e2e-$(stat -c %i /proc/self/ns/pid) && mkdir $own
chown ann $own $own/cgroup.procs $own/cgroup.subtree_control $own/cgroup.threads
echo $$ > $own/cgroup.procs
"""
"""Be in a cgroup of ann's, as systemd gives a service whose unit says `Delegate=yes`."""
LEAVE = """
trap - EXIT
echo $$ > /mnt/cgroups/cgroup.procs
echo 1 > $own/cgroup.kill
while ! rmdir $own; do sleep 0.1; rmdir $own/sayso-*; done 2> /dev/null
umount /mnt/cgroups
"""
"""End all that is left in it, and remove it."""


def blocks(page: Path, language: str) -> list[str]:
    """Return a page's code blocks of a language, in order, without their indentation."""
    fenced = re.compile(rf"^( *)```{language}\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
    found = fenced.findall(page.read_text(encoding="utf-8"))
    return [re.sub(rf"^{indent}", "", text, flags=re.MULTILINE) for indent, text in found]


def as_ann(block: str) -> str:
    """Return a block as ann types it, line by line."""
    return "".join(f"as ann {line}\n" for line in block.strip().splitlines())


def quoted(text: str) -> str:
    """Quote a text for sh."""
    return "'" + text.replace("'", "'\\''") + "'"


def followed(tmp_path: Path, script: str, *, seconds: int = 170) -> str:
    """Run a script in new namespaces; return what it prints."""
    written = tmp_path / "steps.sh"
    written.write_text(script)
    words = (
        "unshare",
        "--mount",
        "--propagation",
        "private",
        "--pid",
        "--fork",
        "--mount-proc",
        "--kill-child",
    )
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


def prepared(*, administrator: bool = False, host: str = "gateway", settings: str = "") -> str:
    """Return the page's own steps up to a running gateway; ann keeps `sudo` where she should.

    Commands run on the host without asking, so only the wall between users can hold. With
    ``settings`` instead, the page's own run is left out, because a person may have to be asked.
    """
    setup, user, doctor, folder, run, _undo = blocks(EXECUTORS, "sh")
    (config,) = blocks(EXECUTORS, "json5")
    whole = config.replace("{", "{" + (settings or UNASKED.format(host)), 1)
    keep = "" if administrator else "rm /etc/sudoers.d/ann\n"
    made = f"as ann sh -c {quoted(run.strip())}\nstat -c %U /srv/work/made\n"
    made = "" if settings else made
    return f"""
cd /
{as_ann(setup)}{as_ann(user)}{as_ann(folder)}{keep}
as ann mkdir -m 700 /home/ann/.sayso
cat > /home/ann/.sayso/config.json5 <<'END'
{whole}END
chown ann: /home/ann/.sayso/config.json5
as ann sh -c {quoted(doctor.strip())}
{SERVE}
{made}set +e
"""


def run(line: str, agent: str = "coder", seconds: int = 20) -> str:
    """Return the shell command with which ann's gateway runs a line for an agent."""
    return (
        f"as ann {SAYSO} run --agent {agent} --cwd {'/srv/work' if agent == 'coder' else '/'} "
        f"--timeout {seconds} -c {quoted(line)}"
    )
