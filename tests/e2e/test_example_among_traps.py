"""Try holes 8 and 10 of issue 9, through `sayso run` and a gateway with the example policy."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.core.policy.developer import EXAMPLE
from tests.e2e.running import finished
from tests.faults.program_traps import Canary, Listener, listening, traps
from tests.support.gateway_process import GatewayProcess, write_config
from tests.support.version_managers import canary, hard_linked, manager

LINES = (
    *("npm ls", "npm prefix", "npm root", "npm config get registry", "npm --version", "npm run"),
    *("node --version", "python3 --version", "rg --version", "rg x", "fdfind x", "ls", "tree"),
    *("jq --version", "find . -name x", "stat .", "file .npmrc", "head -1 .npmrc", "wc -l .npmrc"),
    *(
        "sort .npmrc",
        "diff .npmrc .npmrc",
        "grep -n registry .npmrc",
        "du -s .",
        "sed -n 1p .npmrc",
    ),
)
TRAPS = (
    ".npmrc registry",
    ".npmrc cache",
    ".npmrc logs-dir",
    ".npmrc logs-max",
    "sitecustomize.py",
)


class Place:
    """A gateway, a project among traps, and the port that no program may call."""

    def __init__(self, gateway: GatewayProcess, tree: Path, listener: Listener) -> None:
        self.gateway = gateway
        self.tree = tree
        self.listener = listener
        self.canary = Canary.under(tree.parent, listener.port)

    def run(self, *words: str) -> tuple[int, bytes, bytes]:
        """Run `sayso run` in the project to its end."""
        return finished(self.gateway, "--cwd", str(self.tree), *words, agent="main")

    @property
    def fired(self) -> list[str]:
        """Return the canaries that did."""
        found = [one.name for one in self.canary.flags.iterdir()]
        found += ["written"] if os.path.lexists(self.canary.folder) else []
        return found + ["called"] * len(self.listener.calls)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """Yield a running gateway with the shipped example policy and its user's home."""
    user = tmp_path / "user"
    tree = user / "projects" / "app"
    tree.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(user))
    home = tmp_path / "sayso"
    write_config(home, None)
    shutil.copy(EXAMPLE, home / "config.json5")
    (home / "config.json5").chmod(0o600)
    gateway = GatewayProcess(home)
    gateway.start()
    try:
        with listening() as listener:
            yield Place(gateway, tree, listener)
    finally:
        gateway.stop()


def plant(place: Place, *named: str) -> None:
    """Plant traps, with an .npmrc that contains what each of them says."""
    settings: list[str] = []
    for trap in traps():
        if trap.name in named:
            trap.plant(place.tree, place.canary)
            npmrc = place.tree / ".npmrc"
            if trap.name.startswith(".npmrc"):
                settings.append(npmrc.read_text())
                npmrc.write_text("".join(settings))


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_two_dozen_allowed_lines_run_among_traps(place: Place) -> None:
    """Hole 8 among them: `npm ls` sent requests, `npm prefix` wrote into the named folder.

    At 6a3dcf4 with the shipped example policy, strict, in a project whose .npmrc says
    registry=http://127.0.0.1:9999/, cache=/tmp/n/old/evil and logs-dir=/tmp/n/old/logs::

        $ sayso run -c 'npm ls'; ls -d /tmp/n/old/evil /tmp/n/old/logs; head -1 listener.log
        x@1.0.0 /tmp/n/old/user/projects/app
        └── (empty)
        /tmp/n/old/evil
        /tmp/n/old/logs
        GET /npm HTTP/1.1
        $ rm -r /tmp/n/old/evil; sayso run -c 'npm prefix'; ls -d /tmp/n/old/evil
        /tmp/n/old/user/projects/app
        /tmp/n/old/evil
    """
    plant(place, *TRAPS)

    codes = {line: place.run("-c", line)[0] for line in LINES}

    assert [line for line, code in codes.items() if code in {4, 126, 127}] == []
    assert place.fired == []


def test_npm_by_itself_obeys_them(place: Place) -> None:
    """The control: the same traps fire where Sayso does not start npm."""
    plant(place, *TRAPS)
    environ = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(place.tree.parents[1])}

    subprocess.run(["npm", "ls"], cwd=place.tree, env=environ, check=False, stdout=-3, stderr=-3)

    assert {"called", "written"} <= set(place.fired)


def test_a_hard_linked_proxy_is_asked_about(place: Place, tmp_path: Path) -> None:
    """Hole 10: `cargo --version` ran the cargo of the work tree.

    At 6a3dcf4, where an entry lists /tmp/n/old/bin/*, strict::

        $ ls -i /tmp/n/old/bin/cargo ~/.cargo/bin/rustup
        4022 /root/.cargo/bin/rustup
        4022 /tmp/n/old/bin/cargo
        $ cat rust-toolchain.toml t/bin/cargo
        [toolchain]
        path = "/tmp/n/old/user/projects/app/t"
        #!/bin/sh
        echo "the work tree ran"
        $ sayso run -c '/tmp/n/old/bin/cargo --version'
        the work tree ran
    """
    made = manager(tmp_path / "bin", "rustup", "x", "rust-toolchain")
    shim = hard_linked(made, made.with_name("cargo"))
    approvals = {"version": 1, "agents": {"main": {"allowlist": [{"pattern": str(shim)}]}}}
    (place.gateway.home / "exec-approvals.json").write_text(json.dumps(approvals))
    before = place.run("--", str(shim), "--version")
    evil, flag = canary(place.tree)
    (place.tree / "rust-toolchain").write_text(f"{evil}\n")

    code, _, error = place.run("--", str(shim), "--version")

    assert before[:2] == (0, b"itself\n")
    assert code != 0
    assert b"a person must allow this" in error
    assert not flag.exists()
