"""Test the sandbox end to end: a gateway without any configuration."""

import json
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.gateway_process import GatewayProcess


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    """Run a gateway over a home without any configuration."""
    home = tmp_path_factory.mktemp("home")
    home.chmod(0o700)
    gateway = GatewayProcess(home)
    gateway.start()
    try:
        yield gateway
    finally:
        assert gateway.stop() == 0


def test_a_command_runs_in_the_sandbox_unasked(fresh: GatewayProcess, tmp_path: Path) -> None:
    """S0: "Default exec.host = sandbox", and it proceeds; the gateway host stays closed."""
    inside = fresh.json("run", "--host", "sandbox", "--cwd", str(tmp_path), "-c", "id -u | cat")
    default = fresh.cli("run", "--cwd", str(tmp_path), "-c", "echo made | tee made")
    outside = fresh.json("run", "--host", "gateway", "-c", "id")
    told = fresh.events()

    assert (inside["status"], inside["output"]) == ("finished", f"{os.getuid()}\n")
    assert (default.returncode, default.stdout) == (0, "made\n")
    assert (tmp_path / "made").read_text() == "made\n"
    assert (outside["status"], outside["reason"]) == ("denied", "security_deny")
    assert any(text.startswith("Exec finished (node=sandbox") for text in told), told


def test_it_is_enclosed(fresh: GatewayProcess, tmp_path: Path) -> None:
    """The gateway's home is hidden, there is no network, and no outside folder can be changed."""
    (fresh.home / "mark").write_text("secret")
    mark = f"/opt/sayso-{secrets.token_hex(4)}"
    look = f"cat {fresh.home}/mark; cat /proc/net/dev; touch {mark}"
    done = fresh.json("run", "--cwd", str(tmp_path), "-c", look)

    assert done["status"] == "finished"
    assert "secret" not in done["output"]
    assert "eth" not in done["output"]
    assert not Path(mark).exists()


def test_ask_always_holds_there_too(fresh: GatewayProcess, tmp_path: Path) -> None:
    """A request to be asked is honoured; here no one can be asked, so it is denied."""
    done = fresh.json("run", "--ask", "always", "--cwd", str(tmp_path), "-c", "id")
    unseen = fresh.json("run", "--ask", "always", "--cwd", str(fresh.home), "-c", "id")

    assert (done["status"], done["reason"]) == ("denied", "no_route")
    assert (unseen["status"], unseen["reason"]) == ("denied", "spawn_failed")


def test_the_doctor_tells_what_encloses(fresh: GatewayProcess) -> None:
    """By a real run inside, in the doctor's own process."""
    lines = fresh.cli("doctor").stdout.splitlines()

    (line,) = (line for line in lines if line.startswith("ok    sandbox"))
    assert line.startswith("ok    sandbox: bubblewrap encloses commands, which change only")


@pytest.mark.parametrize("let", [True, False], ids=["let", "control"])
def test_the_doctor_warns_of_sockets_that_can_be_reached(let: bool, tmp_path: Path) -> None:
    """It says what the configuration opens, with the setting that closes it."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "config.json5").write_text(f"{{sandbox: {{unixSockets: {str(let).lower()}}}}}")
    doctor = GatewayProcess(home).cli("doctor").stdout

    assert "ok    sandbox: bubblewrap" in doctor
    assert ("sandbox: lets commands connect to Unix sockets" in doctor) is let


def test_without_a_sandbox_nothing_runs(tmp_path: Path) -> None:
    """`sandbox.backend: none` denies with the reason; nothing falls back to the gateway."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "config.json5").write_text('{sandbox: {backend: "none"}}')
    gateway = GatewayProcess(home)
    gateway.start()
    try:
        done = gateway.json("run", "--cwd", str(tmp_path), "-c", "touch ran")
        doctor = gateway.cli("doctor").stdout
    finally:
        gateway.stop()

    assert (done["status"], done["reason"]) == ("denied", "host_unavailable")
    assert "sandbox.backend is none" in done["why"]
    assert not (tmp_path / "ran").exists()
    assert "fail  sandbox: no sandbox works here" in doctor
    assert doctor.count("no sandbox works here") == 1


def test_a_workspace_over_the_gateways_home_stops_the_start(tmp_path: Path) -> None:
    """A sandboxed command could change the approvals file, so the gateway does not start."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "config.json5").write_text(f'{{sandbox: {{workspace: "{tmp_path}"}}}}')
    done = GatewayProcess(home).cli("serve")

    assert done.returncode == 2
    assert "sandbox.workspace names" in done.stderr


def test_what_is_undone_is_said(fresh: GatewayProcess, tmp_path: Path) -> None:
    """In the result, on the terminal and in the journal; a run that leaves nothing says nothing."""
    line = ("run", "--cwd", str(tmp_path), "-c", "touch .envrc")
    done, again, calm = fresh.json(*line), fresh.cli(*line), fresh.json(*line[:-1], "touch f")
    records = [json.loads(one) for one in (fresh.home / "audit.jsonl").read_text().splitlines()]
    written = [one["findings"] for one in records if "findings" in one]

    (said,) = done["findings"]
    assert said.startswith(".envrc in the workspace appeared although it is protected")
    assert ".envrc in the workspace appeared" in again.stderr
    assert written[0] == [said]
    assert ("findings" in calm, len(written)) == (False, 2)
