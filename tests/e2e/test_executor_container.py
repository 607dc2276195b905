"""Set executors up in a fresh container, by the guide as written, and watch the clock.

The machine is a container of Debian with Python, make, git and sudo. Nothing is set up except what
the guide begins with: a user who may use sudo, and a clone owned by root. Run it for the figures::

    python -m pytest --capture=no -m deep tests/e2e/test_executor_container.py
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from tests.project.artefacts import copy_source
from tests.support.container_image import BASE, LIMITS, Engine, engine, index_mounts
from tests.support.executor_page import EXECUTORS, SAYSO, UNASKED, blocks
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.deep, pytest.mark.slow, pytest.mark.timeout(900)]
_GOAL_S = 300.0
_AUTHOR = ("-c", "user.name=Ann", "-c", "user.email=ann@example.com")
_BEGINNING = """
set -e
useradd --create-home --shell /bin/bash ann
echo 'ann ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/ann
chmod 440 /etc/sudoers.d/ann
git clone --quiet /src /opt/sayso
make --directory /opt/sayso install
"""


@dataclass
class Machine:
    """A fresh container; ``steps`` are what ann typed, with the seconds by the clock."""

    podman: Engine
    name: str
    steps: list[tuple[str, float]] = field(default_factory=list)

    def ann(self, command: str, *, ok: bool = True) -> str:
        """Type a command as ann; return what it printed."""
        begin = time.monotonic()
        words = ("runuser", "--login", "ann", "--command", f"cd /; {command}")
        done = self.podman("exec", self.name, *words, seconds=200, ok=ok)
        self.steps.append((command.splitlines()[0], time.monotonic() - begin))
        return done.stdout + done.stderr

    def root(self, script: str) -> str:
        """Run a script as root."""
        return self.podman("exec", self.name, "sh", "-c", script, seconds=300).stdout

    def serves(self) -> bool:
        """Return whether the gateway is running."""
        look = ("exec", self.name, "test", "-S", "/home/ann/.sayso/gateway.sock")
        return self.podman(*look, ok=False).returncode == 0


@pytest.fixture
def fresh() -> Iterator[Machine]:
    """Yield the machine, as it is before the guide's first step."""
    with engine() as podman:
        image = podman.debian("machine", (*BASE, "make", "git", "sudo"))
        source = copy_source(podman.folder / "source")
        for git in (("init", "-q"), ("add", "-A"), (*_AUTHOR, "commit", "-qm", "All of it")):
            subprocess.run(["git", *git], cwd=source, check=True)
        subprocess.run(["chown", "-R", "0:0", source], check=True)
        places = (
            "--network",
            "host",
            *index_mounts(podman.folder),
            "--volume",
            f"{source}:/src:ro",
        )
        made = Machine(podman, "executors")
        run = ("run", "--detach", "--init", "--name", made.name)
        podman(*run, *LIMITS, *places, image, "sleep", "900")
        try:
            made.root(_BEGINNING)
            yield made
        finally:
            podman("rm", "--force", "--time", "0", made.name, ok=False)


def test_the_guide_in_a_fresh_container(fresh: Machine) -> None:
    """Each step as written, up to an output; then setup again, undo, and doctor in between."""
    setup, user, doctor, folder, run, undo = blocks(EXECUTORS, "sh")
    (config,) = blocks(EXECUTORS, "json5")
    dry, real = setup.strip().splitlines()
    fresh.ann(dry)
    first = fresh.ann(real)
    fresh.ann(user)
    whole = config.replace("{", "{" + UNASKED.format("gateway"), 1)
    fresh.ann(
        f"install -d -m 700 .sayso && cat > .sayso/config.json5 <<'END'\n{whole}END".replace(
            " .s", " ~/.s"
        )
    )
    fresh.ann(f"setsid {SAYSO} serve > ~/log 2>&1 &")
    wait_until("the gateway", fresh.serves, seconds=120)
    checked = fresh.ann(doctor)
    fresh.ann(folder)
    printed = fresh.ann(run)
    took = sum(seconds for _, seconds in fresh.steps)
    lines = [f"  {seconds:5.1f} s  {what}" for what, seconds in fresh.steps]
    head = f"the guide to executors in a fresh container: {took:.1f} s, goal {_GOAL_S:.0f} s"
    sys.stdout.write("\n".join(["", f"{head} (load {os.getloadavg()[0]:.1f})", *lines, ""]))

    # Debian closes the home of a user that it creates, so one step has nothing to do.
    assert (first.count("done: "), first.count("nothing to do: ")) == (6, 1)
    assert "All 9 checks passed." in checked
    assert printed.startswith("sayso_alice\n")
    assert fresh.root("stat -c %U /srv/work/made") == "sayso_alice\n"
    assert took <= _GOAL_S, head

    assert "done: " not in fresh.ann(real)
    assert "All 9 checks passed." in fresh.ann(doctor)
    assert fresh.ann(undo).count("done: ") == 6
    missing = fresh.ann(doctor, ok=False)
    assert all(word in missing for word in ("cannot be read", "sayso_exec", "does not exist"))
    assert fresh.root("ls -A /usr/local/libexec; getent group sayso_exec || true") == ""
    assert "done: " not in fresh.ann(undo)
    again = fresh.ann(real)  # its user and the home remain: undo keeps what may hold work
    assert (again.count("done: "), again.count("nothing to do: ")) == (5, 2)
    assert "All 9 checks passed." in fresh.ann(
        f"{real.replace('setup', 'user add sayso_alice')}; {doctor}"
    )
    assert fresh.ann(run).startswith("sayso_alice\n")
