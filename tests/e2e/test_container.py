"""Build the image and compose.yaml and run them by podman on images of Debian's packages.

What this machine's podman cannot do here: limits of cgroups (memory, processes), a network between
containers (the gateway joins the database's, whose loopback is called `db`), and timers for health
checks (the tests run the check). `podman compose` itself is not used: compose.yaml is read, and
tests/support/container_image.py hands each of its keys to podman.
"""

import json
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.docs.blocks import blocks
from tests.docs.commands import commands
from tests.project.artefacts import copy_source
from tests.project.tracked import ROOT
from tests.support.container_image import BASE, LIMITS, Engine, engine, options
from tests.support.terminal import Screen, terminal
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.deep, pytest.mark.slow, pytest.mark.timeout(580)]
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
ASKING = {
    "SAYSO_TOOLS__EXEC__SECURITY": "allowlist",
    "SAYSO_TOOLS__EXEC__ASK": "on-miss",
    "SAYSO_CHANNELS__TERMINAL__APPROVERS": '["uid:10001"]',
}
PAGE = ROOT / "docs" / "how-to" / "container.md"
CGROUPS = ("--memory 1g ", "--pids-limit 512 ")
"""What the page gives a container and no container here can have."""


def typed(begin: str) -> str:
    """Return the command of docs/how-to/container.md with this beginning, on one line."""
    mine = [one for one in blocks(PAGE) if one.test.endswith(Path(__file__).name)]
    found = [command.bare.replace("\\\n", "") for one in mine for command in commands(one)]
    (line,) = (one for one in found if one.startswith(begin))
    return line


@dataclass(frozen=True, slots=True)
class Container:
    """A running gateway in a container."""

    podman: Engine
    name: str

    def run(self, *words: str, ok: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a command in it."""
        return self.podman("exec", self.name, *words, ok=ok)

    def is_healthy(self) -> bool:
        """Run the image's own health check."""
        return self.podman("healthcheck", "run", self.name, ok=False).returncode == 0

    def wait(self) -> None:
        """Wait until it is healthy."""
        wait_until("the gateway is healthy", self.is_healthy, seconds=60)

    def zombies(self) -> int:
        """Count ended orphans, and processes that sleep, as long as there are any."""
        look = "cat /proc/[0-9]*/stat | grep -Ec ' [(]sleep[)] '"
        return int(self.run("sh", "-c", look, ok=False).stdout)

    def stop(self) -> tuple[int, str]:
        """Stop it as engines do; return its exit code and its log."""
        self.podman("stop", "--time", "30", self.name)
        code = self.podman("inspect", "--format", "{{.State.ExitCode}}", self.name).stdout
        done = self.podman("logs", self.name)
        return int(code), done.stdout + done.stderr

    def approve(self, command: str) -> str:
        """Ask for a command and allow it in a terminal in the container; return what it printed."""
        words = [self.podman.binary, "exec", self.name, "sayso", "run", "-c", command]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as asking:
            wait_until("the question", lambda: self.pending(command), seconds=30)
            code = self.pending(command)
            answer = ("sayso", "approve", code, "allow-once")
            with terminal(self.podman.binary, "exec", "-it", self.name, *answer) as (
                process,
                master,
            ):
                Screen(master).wait_for("Allowed once")
                assert process.wait(30) == 0
            printed, _ = asking.communicate(timeout=60)
            assert asking.returncode == 0
        return printed

    def pending(self, command: str) -> str:
        """Return the code of a command that waits, or nothing."""
        listed = json.loads(self.run("sayso", "pending", "--json").stdout or "[]")
        return next((one["code"] for one in listed if one["command"] == command), "")


@pytest.fixture(scope="module")
def podman() -> Iterator[Engine]:
    """Yield an engine that has the image."""
    with engine() as made:
        source = copy_source(made.folder / "source")
        build = typed("podman build").removesuffix(" .").split()[2:]
        made.build("sayso", source, made.debian("base", BASE), *build)
        yield made


@contextmanager
def running(podman: Engine, name: str, *words: str, **environ: str) -> Iterator[Container]:
    """Run the image as a container of this name, without network unless ``words`` say so."""
    given = [word for key, text in environ.items() for word in ("--env", f"{key}={text}")]
    network = () if "--network" in words else ("--network", "none")
    podman("run", "--detach", "--name", name, *LIMITS, *network, *words, *given, "sayso")
    try:
        yield Container(podman, name)
    finally:
        podman("rm", "--force", "--time", "0", name, ok=False)


def hardened(*words: str) -> list[str]:
    """Return the options that compose.yaml gives the gateway, without its store."""
    service = dict(COMPOSE["services"]["sayso"], secrets=[], volumes=[])
    service["environment"] = {"SAYSO_TOOLS__EXEC__HOST": "gateway"}
    return [*options(service, ROOT), *words]


def test_the_image_is_hardened_and_serves(podman: Engine) -> None:
    """Not root, nothing writable outside its volume and /tmp, no capabilities; approvals work."""
    volume = ("--volume", "alone:/var/lib/sayso")  # compose.yaml has its own volume "state"
    with running(podman, "one", *hardened(*volume), **ASKING) as gateway:
        gateway.wait()
        status = gateway.run("cat", "/proc/1/status").stdout
        written = gateway.run("touch", "/opt/sayso/x", "/x", "/etc/x", ok=False)
        ids = gateway.run("id", "-u").stdout + gateway.run("id", "-g").stdout
        doctor = gateway.run("sayso", "doctor", ok=False).stdout
        printed = gateway.approve("uname -s")
        gateway.run("sh", "-c", "sleep 0.2 & exit 0")
        wait_until("that orphans are reaped", lambda: gateway.zombies() == 0)
        code, log = gateway.stop()
        with running(podman, "two", *hardened(*volume), **ASKING) as next_one:
            next_one.wait()
            history = next_one.run("sayso", "history", "--json").stdout
            verified = next_one.run("sayso", "audit", "verify").stdout

    assert ids.split() == ["10001", "10001"]
    assert "CapBnd:\t0000000000000000" in status
    assert "NoNewPrivs:\t1" in status
    assert written.stderr.count("Read-only file system") == 3
    assert "no sandbox works here" in doctor
    assert printed == "Linux\n"
    assert (code, "sayso: stopping" in log, "Traceback" in log) == (0, True, False), log
    assert "uname -s" in history
    assert "the chain is intact" in verified


def test_the_page_from_the_volume_to_an_answer(podman: Engine) -> None:
    """Its commands as written, with a person who answers at a terminal."""
    alone = (*LIMITS, "--network", "none")
    _typed(podman, "podman volume")
    init = [*_words("podman run --rm", *alone), "--channel", "terminal"]
    with terminal(podman.binary, *init) as (process, master):
        screen = Screen(master)
        screen.wait_for("a (allow once)")
        screen.answer("a")
        assert process.wait(60) == 0
    given = [word for key, text in ASKING.items() for word in ("--env", f"{key}={text}")]
    podman(*_words("podman run --detach", *alone, *given))
    gateway = Container(podman, "sayso")
    try:
        gateway.wait()
        _typed(podman, "podman exec sayso sayso status")
        printed = _answered(podman, gateway)
    finally:
        podman("rm", "--force", "--time", "0", "sayso", ok=False)
    assert printed.startswith("Linux ")


def _words(begin: str, *more: str) -> list[str]:
    """Return the words of a command of the page after `podman`, and more options."""
    line = typed(begin)
    for one in CGROUPS:
        line = line.replace(one, "")
    _, verb, *words = shlex.split(line)
    return [verb, *more, *words]


def _typed(podman: Engine, begin: str) -> None:
    podman(*_words(begin))


def _answered(podman: Engine, gateway: Container) -> str:
    """Ask, list what waits, and allow it, each as the page types it."""
    words = [podman.binary, *_words("podman exec sayso sayso run")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as asking:
        code = str(wait_until("the question", lambda: gateway.pending("uname -a"), seconds=30))
        with terminal(podman.binary, *_words("podman exec -it sayso sayso pending")) as (_, master):
            Screen(master).wait_for(code)
        answer = [
            code if one == "K3F7QZ" else one
            for one in _words("podman exec -it sayso sayso approve")
        ]
        with terminal(podman.binary, *answer) as (process, master):
            Screen(master).wait_for("Allowed once")
            assert process.wait(30) == 0
        printed, _ = asking.communicate(timeout=60)
    return printed


def test_a_gateway_that_fails_is_unhealthy(podman: Engine) -> None:
    """The control: with everything locked down, the health check fails, and recovers."""
    with running(podman, "sick", *hardened(), **ASKING) as gateway:
        gateway.wait()
        gateway.run("sayso", "lockdown", "on", "--why", "a test")
        locked = gateway.is_healthy()

    assert not locked


def test_a_writable_root_would_be_seen(podman: Engine) -> None:
    """The control: without compose.yaml's options the container may write and has capabilities."""
    with running(podman, "loose", "--user", "0:0", SAYSO_HOME="/root/sayso") as gateway:
        written = gateway.run("touch", "/opt/sayso/x", ok=False)
        status = gateway.run("cat", "/proc/1/status").stdout

    assert written.returncode == 0
    assert "CapBnd:\t0000000000000000" not in status


def test_compose_runs_with_postgresql(podman: Engine, tmp_path: Path) -> None:
    """The database becomes healthy first; state is in it, and outlives both containers."""
    base = podman.debian("postgresql-base", ("postgresql",))
    podman.build("postgres", ROOT / "tests" / "support" / "postgres_image", base)
    _secrets(tmp_path)
    with _compose(podman, tmp_path) as gateway:
        shown = gateway.approve("uname -m")
        doctor = gateway.run("sayso", "doctor", ok=False).stdout
        files = gateway.run("ls", "/var/lib/sayso").stdout.split()
        code, log = gateway.stop()
    with _compose(podman, tmp_path) as gateway:
        history = gateway.run("sayso", "history", "--json").stdout

    assert shown
    assert "ok    store:" in doctor
    assert "ok    secret store.url" in doctor
    assert ("audit.jsonl" in files, "state.db" in files) == (True, False)
    assert (code, "Traceback" in log) == (0, False), log
    assert "uname -m" in history


def _secrets(folder: Path) -> None:
    """Write the secrets with the page's own block."""
    (block,) = (one.text for one in blocks(PAGE) if "store-url" in one.text)
    as_root = f'sudo() {{ "$@"; }}\n{block}\n'
    subprocess.run(["sh", "-euc", as_root], cwd=folder, check=True, timeout=20)
    (user, mode), (other, _) = (
        ((found := (folder / "secrets" / name).stat()).st_uid, found.st_mode & 0o777)
        for name in ("store-url", "db-password")
    )
    assert (user, other, mode) == (10001, 999, 0o400)


@contextmanager
def _compose(podman: Engine, folder: Path) -> Iterator[Container]:
    """Run both services in the order of compose.yaml until the block ends."""
    services = COMPOSE["services"]
    database = options(services["db"], folder)
    hosts = folder / "hosts"
    hosts.write_text("127.0.0.1 localhost db\n")
    known = ("--volume", f"{hosts}:/etc/hosts:ro")
    alone = ("--network", "none")
    podman("run", "--detach", "--name", "db", *LIMITS, *alone, *database, "postgres")
    check = Container(podman, "db")
    try:
        wait_until("the database is healthy", check.is_healthy, seconds=60)
        words = (*known, *options(services["sayso"], folder))
        with running(podman, "app", "--network", "container:db", *words, **ASKING) as gateway:
            gateway.wait()
            yield gateway
    finally:
        podman("stop", "--time", "30", "db", ok=False)
        podman("rm", "--force", "--time", "0", "db", ok=False)
