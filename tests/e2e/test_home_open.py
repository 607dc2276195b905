"""A running gateway notices that others can enter its home, and then runs nothing."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bot.client import Client
from tests.e2e.running import SAYSO, running_gateway
from tests.support.gateway_process import GatewayProcess, write_config
from tests.support.terminal import in_terminal
from tests.support.waiting import wait_until


def ran(gateway: GatewayProcess, *words: str) -> tuple[int, str]:
    """Run `true` as the agent that may run everything; return the exit code and the reason."""
    done = gateway.cli("run", "--agent", "free", *words, "--", "true")
    return done.returncode, done.stderr


def records(gateway: GatewayProcess) -> list[dict[str, Any]]:
    """Return what the journal says about the lockdown."""
    lines = (gateway.home / "audit.jsonl").read_text().splitlines()
    return [one for one in map(json.loads, lines) if one.get("kind") == "lockdown"]


@pytest.mark.parametrize("mode", [0o777, 0o750, 0o701, 0o1777])
def test_nothing_runs_while_the_home_is_open(tmp_path: Path, mode: int) -> None:
    """From the next request on, and the text says what to do; private again, requests pass."""
    with running_gateway(tmp_path / "home") as gateway:
        before = ran(gateway)
        gateway.home.chmod(mode)
        while_open = ran(gateway)
        off = in_terminal(*SAYSO, "lockdown", "off", environ=gateway.environ())
        gateway.home.chmod(0o700)
        after = ran(gateway)

    assert before[0] == 0, before
    assert while_open[0] == 3, while_open
    assert f"chmod 700 '{gateway.home}'" in while_open[1]
    assert f"{mode:04o}" in while_open[1]
    assert (off[0], "chmod 700" in off[1]) == (3, True), off
    assert after[0] == 0, after


def test_nothing_runs_once_the_database_is_another_file(tmp_path: Path) -> None:
    """Answers and claims of runs would be gone after a restart; moved back, it is the same file."""
    with running_gateway(tmp_path / "home") as gateway:
        database = gateway.home / "state.db"
        before = ran(gateway)
        database.rename(tmp_path / "state.db")
        without = ran(gateway)
        (tmp_path / "state.db").rename(database)
        after = ran(gateway)

    assert (before[0], after[0]) == (0, 0), (before, after)
    assert without[0] == 3, without
    assert f"{database} cannot be checked: No such file" in without[1]


def test_nothing_runs_once_the_log_of_the_database_is_gone(tmp_path: Path) -> None:
    """All that was stored since the start is in it; a clean stop writes it into the database."""
    with running_gateway(tmp_path / "home") as gateway:
        before = ran(gateway)
        (gateway.home / "state.db-wal").unlink()
        without = ran(gateway)
        gateway.stop()
        gateway.start()
        after = ran(gateway)
        history = json.loads(gateway.cli("history", "--json").stdout)

    assert (before[0], after[0]) == (0, 0), (before, after)
    assert without[0] == 3, without
    assert "state.db-wal cannot be checked: No such file" in without[1]
    assert len(history) == 3, history  # one of them was refused


def test_what_an_operator_does_to_the_database_locks_nothing(tmp_path: Path) -> None:
    """To copy it, to back it up, to vacuum it or to write its log back replaces no file."""
    with running_gateway(tmp_path / "home") as gateway:
        database = gateway.home / "state.db"
        (tmp_path / "copy").write_bytes(database.read_bytes())
        other = sqlite3.connect(database)
        with closing(other), closing(sqlite3.connect(tmp_path / "backup")) as backup:
            other.backup(backup)
            other.execute("VACUUM")
            other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        after = ran(gateway)

    assert after[0] == 0, after


def test_what_waits_does_not_start_in_an_open_home(tmp_path: Path) -> None:
    """Allowed while it was private, or pressed while it is open: the spawn checks again."""
    with running_gateway(tmp_path / "home") as gateway:
        with Client(str(gateway.home / "gateway.sock")) as client:
            wish = {"argv": ["/usr/bin/touch", str(tmp_path / "made")], "cwd": "/", "wait": False}
            asked = client.call("exec.run", wish)
            gateway.home.chmod(0o777)
            answered = gateway.cli("approve", asked["id"], "allow-once", own_session=True)
            end = client.call("exec.wait", {"id": asked["id"], "timeoutMs": 30_000})
        gateway.home.chmod(0o700)

    assert answered.returncode == 0, answered
    assert (end["status"], end["reason"]) == ("denied", "locked_down"), end
    assert not (tmp_path / "made").exists()


def test_another_folder_in_its_place_is_noticed(tmp_path: Path) -> None:
    """As private as the first, but without its limits: nothing runs until they are back."""
    home, away = tmp_path / "home", tmp_path / "away"
    with running_gateway(home) as gateway:
        home.rename(away)
        home.mkdir(mode=0o700)
        (home / "gateway.sock").symlink_to(away / "gateway.sock")
        swapped = ran(gateway)
        (home / "gateway.sock").unlink()
        home.rmdir()
        away.rename(home)
        after = ran(gateway)

    assert (swapped[0], "is not the folder that the gateway was started with" in swapped[1]) == (
        3,
        True,
    ), swapped
    assert after[0] == 0, after


@pytest.mark.timeout(120)
def test_people_and_the_journal_hear_of_it(tmp_path: Path) -> None:
    """Without a request, too: the journal has both ends, and health says what is wrong."""
    with running_gateway(tmp_path / "home") as gateway:
        gateway.home.chmod(0o777)
        wait_until("the record", lambda: records(gateway), 40)
        with Client(str(gateway.home / "gateway.sock")) as client:
            part = client.call("health.get", {})["parts"]["lockdown"]
        gateway.home.chmod(0o700)
        wait_until("the other record", lambda: len(records(gateway)) == 2, 40)

    assert [one["state"] for one in records(gateway)] == ["on", "off"]
    assert records(gateway)[0]["by"] == "home check"
    assert (part["ok"], "chmod 700" in part["detail"]) == (False, True)
    assert not (gateway.home / "lockdown").exists()


def test_the_approvals_file_is_looked_at_again(tmp_path: Path) -> None:
    """Opened to others under a running gateway, it is ignored until it is private again."""
    with running_gateway(tmp_path / "home") as gateway:
        file = gateway.home / "exec-approvals.json"
        before = ran(gateway)
        file.chmod(0o666)
        while_open = ran(gateway)
        file.chmod(0o600)
        after = ran(gateway)

    assert (before[0], after[0]) == (0, 0), (before, after)
    assert (while_open[0], "chmod 600" in while_open[1]) == (3, True), while_open


@pytest.mark.parametrize("opened", ["file", "folder"])
@pytest.mark.parametrize("which", ["config.json5", "token"])
def test_a_start_refuses_what_others_could_write(tmp_path: Path, which: str, opened: str) -> None:
    """Settings and secrets, also behind a link; once mode or folder is fixed, they are read."""
    home, folder = tmp_path / "home", tmp_path / "shared"
    folder.mkdir(mode=0o755)
    write_config(home, None)
    config = json.loads((home / "config.json5").read_text())
    config["channels"]["telegram"] = {
        "token": {"file": str(folder / "token")},
        "apiBaseUrl": "http://127.0.0.1:9",
        "approvers": ["1"],
    }
    (folder / "config.json5").write_text(json.dumps(config))
    (folder / "token").write_text("123:secret")
    (home / "config.json5").unlink()
    (home / "config.json5").symlink_to(folder / "config.json5")
    gateway = GatewayProcess(home)
    found, private = (folder / which, 0o600) if opened == "file" else (folder, 0o755)
    found.chmod(0o777)
    refused = gateway.cli("config", "check")
    found.chmod(private)
    taken = gateway.cli("config", "check")

    assert refused.returncode in {1, 2}, refused
    assert "by others" in refused.stderr + refused.stdout, refused
    assert taken.returncode == 0, taken
