"""Use S4 by its commands: two gateways on this machine, one asks the other to run vectors."""

import base64
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.remote_gateways import identity, know, write
from tests.support.gateway_process import ROOT, GatewayProcess
from tests.support.product_process import run, start
from tests.support.waiting import wait_until

STUBBORN = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(7)"


@dataclass
class Pair:
    """The asking gateway, the host, and the host's access list."""

    client: GatewayProcess
    host: GatewayProcess
    acl: Path
    agent_id: str

    def exec(self, *words: str) -> subprocess.CompletedProcess[bytes]:
        """Run `sayso exec` on the asking side; streams come back as bytes."""
        return run(
            [sys.executable, "-m", "bot", "exec", *words],
            cwd=ROOT,
            env=self.client.environ(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Start both, each knowing the other."""
    folder = tmp_path_factory.mktemp("remote")
    socket, acl = folder / "exec.sock", folder / "exec-acl.toml"
    client = write(folder / "client")
    host = write(
        folder / "host", remote={"acl": str(acl), "listen": [f"unix:{socket}", "127.0.0.1:0"]}
    )
    asks, hosts = identity(client), identity(host)
    script = folder / "both.py"
    script.write_text(STUBBORN)
    vectors = [
        ["head", "-n", "<INT>", "/etc/passwd"],
        ["head", "-c", "7000000", "/dev/zero"],
        ["cat"],
        ["sleep", "<INT>"],
        [sys.executable, str(script)],
    ]
    lines = ["[exec]", "enabled = true", f'audit_log_path = "{folder}/log/exec.log"']
    lines += ["[[exec.allow]]", f'agent_id = "{asks["agent_id"]}"']
    lines += [f'machine_id = "{asks["machine_id"]}"']
    for vector in vectors:
        lines += ["[[exec.allow.commands]]", f"argv = {json.dumps(vector)}"]
    acl.write_text("\n".join(lines))
    host.start()
    client.start()
    listener = wait_until(
        "the host's listener", lambda: host.json("diagnostics", "exec")["listening"]
    )[1]
    know(host, "laptop", asks)
    know(client, "web1", hosts, "--address", listener, "--fingerprint", hosts["fingerprint"])
    yield Pair(client, host, acl, hosts["agent_id"])
    client.stop()
    host.stop()


def both(pair: Pair) -> tuple[str, str]:
    """Return the vector that prints on both streams and exits with 7."""
    return sys.executable, str(pair.acl.with_name("both.py"))


def test_run_an_allowlisted_command(pair: Pair) -> None:
    """By the contact's name and by the agent's id; the output is the command's own."""
    expected = b"".join(Path("/etc/passwd").read_bytes().splitlines(keepends=True)[:2])
    for agent in ("web1", pair.agent_id):
        done = pair.exec(agent, "--", "head", "-n", "2", "/etc/passwd")
        assert (done.returncode, done.stdout, done.stderr) == (0, expected, b"")


def test_streams_stay_apart_and_the_exit_code_is_passed_through(pair: Pair) -> None:
    """Standard output and error arrive where they belong."""
    done = pair.exec("web1", "--", *both(pair))

    assert (done.returncode, done.stdout, done.stderr) == (7, b"out\n", b"err\n")


_NO_ROOM = "cannot write the output (No space left on device); the run ended with 7"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--",), f"sayso: {_NO_ROOM}"),
        (
            ("--json", "--"),
            json.dumps({"error": {"type": "OSError", "message": _NO_ROOM, "exitCode": 1}}),
        ),
    ],
)
def test_an_output_without_room_is_told(pair: Pair, words: tuple[str, ...], told: str) -> None:
    """A full disk causes no traceback; how the run ended is reported, because it is over."""
    with Path("/dev/full").open("wb") as full:
        done = run(
            [sys.executable, "-m", "bot", "exec", "web1", *words, *both(pair)],
            cwd=ROOT,
            env=pair.client.environ(),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )

    assert (done.returncode, done.stderr) == (1, told + "\n")


def test_for_binary_output_json_has_stdout_b64(pair: Pair) -> None:
    """The answer is S4's, key by key."""
    done = pair.exec("web1", "--json", "--", *both(pair))
    answer = json.loads(done.stdout)

    assert done.returncode == 7
    assert len(answer.pop("request_id")) == 32
    assert answer.pop("duration_ms") >= 0
    assert answer == {
        "ok": False,
        "code": 7,
        "signal": None,
        "stdout_b64": base64.b64encode(b"out\n").decode(),
        "stderr_b64": base64.b64encode(b"err\n").decode(),
        "stdout_bytes_total": 4,
        "stderr_bytes_total": 4,
        "truncated": False,
        "denial_reason": None,
        "warnings": [],
    }


def test_send_stdin_from_a_local_file(pair: Pair, tmp_path: Path) -> None:
    """Byte for byte; one byte above the mebibyte is refused before anything is sent."""
    payload = tmp_path / "payload.bin"
    payload.write_bytes(os.urandom(1 << 20))
    done = pair.exec("web1", "--stdin-file", str(payload), "--", "cat")
    assert (done.returncode, done.stdout == payload.read_bytes()) == (0, True)

    payload.write_bytes(bytes((1 << 20) + 1))
    done = pair.exec("web1", "--stdin-file", str(payload), "--", "cat")
    assert (done.returncode, b"larger than 1048576 bytes" in done.stderr) == (2, True)


def test_more_output_than_one_answer_carries_arrives_whole(pair: Pair) -> None:
    """Seven megabytes, as text and as JSON."""
    vector = ("head", "-c", "7000000", "/dev/zero")
    assert pair.exec("web1", "--", *vector).stdout == bytes(7_000_000)
    answer = json.loads(pair.exec("web1", "--json", "--", *vector).stdout)

    assert base64.b64decode(answer["stdout_b64"]) == bytes(7_000_000)
    assert (answer["truncated"], answer["warnings"]) == (False, [])


def test_a_denial_has_exit_code_3_and_its_reason(pair: Pair) -> None:
    """In words for a person, in one word for a program."""
    done = pair.exec("web1", "--", "head", "-n", "007", "/etc/passwd")
    assert (done.returncode, done.stdout) == (3, b"")
    assert b"denied (argv_not_allowed): No argument vector in the host's ACL" in done.stderr

    done = pair.exec("web1", "--json", "--", "cat", "a;b")
    assert json.loads(done.stdout)["denial_reason"] == "shell_metacharacter"


@pytest.mark.parametrize(
    "words", [["nobody", "--", "cat"], ["web1"], ["web1", "--cancel", "x", "--", "y"]]
)
def test_misuse_has_exit_code_2(pair: Pair, words: list[str]) -> None:
    """An unknown name, nothing to run, and both at once."""
    assert pair.exec(*words).returncode == 2


def test_timeout_in_seconds(pair: Pair) -> None:
    """It ends the command there; exit code 4 as for `sayso run`."""
    done = pair.exec("web1", "--timeout", "0.3", "--", "sleep", "60")

    assert done.returncode == 4
    assert done.stderr.startswith(b"sayso: timed_out: It timed out. Raise --timeout")


def test_sessions_lists_both_sides_and_cancel_ends_a_request(pair: Pair) -> None:
    """What we wait for and what runs there; after the cancellation neither has it."""
    waiting = start(
        [sys.executable, "-m", "bot", "exec", "web1", "--", "sleep", "600"],
        cwd=ROOT,
        env=pair.client.environ(),
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        (here,) = wait_until("the session", lambda: pair.host.json("exec", "sessions")["sessions"])
        (ours,) = pair.client.json("exec", "sessions")["pending"]
        assert here["request_id"] == ours["request_id"]
        assert (here["program"], ours["agent_id"]) == ("sleep", pair.agent_id)
        shown = pair.host.cli("exec", "sessions").stdout
        assert "run here: 1" in shown
        done = pair.exec("web1", "--cancel", ours["request_id"])
        assert done.returncode == 0
        _, words = waiting.communicate(timeout=20)
    finally:
        waiting.kill()
    assert (waiting.returncode, words) == (128 + 15, "sayso: cancelled: It was cancelled.\n")
    assert pair.host.json("exec", "sessions")["sessions"] == []
    assert pair.exec("web1", "--cancel", ours["request_id"]).returncode == 2


def test_ctrl_c_ends_the_remote_command(pair: Pair) -> None:
    """A client that stops waiting leaves nothing running on the host."""
    waiting = start(
        [sys.executable, "-m", "bot", "exec", "web1", "--", "sleep", "601"],
        cwd=ROOT,
        env=pair.client.environ(),
    )
    wait_until("the session", lambda: pair.host.json("exec", "sessions")["sessions"])
    waiting.terminate()
    waiting.wait(10)

    wait_until("its end", lambda: not pair.host.json("exec", "sessions")["sessions"])


def test_diagnostics_count_and_never_show_the_list(pair: Pair) -> None:
    """Enabled, counts, denials and a summary; no vector, and no id of a pair."""
    pair.exec("web1", "--", "cat", "/etc/shadow")
    shown = pair.host.json("diagnostics", "exec")
    text = json.dumps(shown)

    assert (shown["enabled"], shown["active_sessions"]) == (True, 0)
    assert shown["denied"]["argv_not_allowed"] >= 1
    assert (shown["acl"]["pairs"], shown["acl"]["commands"]) == (1, 5)
    assert shown["acl"]["max_concurrent_per_agent"] == 4
    for secret in ("/etc/passwd", "both.py", "exec.log", identity(pair.client)["agent_id"][:9]):
        assert secret not in text
    assert pair.client.json("diagnostics", "exec")["enabled"] is False
    told = pair.host.cli("diagnostics", "exec").stdout
    assert re.search(r"^enabled +yes$", told, re.MULTILINE)
    assert re.search(r"^denied: argv_not_allowed +[1-9]", told, re.MULTILINE)


def test_both_journals_say_what_happened_and_verify_offline(pair: Pair) -> None:
    """The host's exec log, and on the asking side the requester; both chains are intact."""
    pair.exec("web1", "--", "cat")
    log = pair.acl.with_name("log") / "exec.log"
    kinds = [json.loads(line)["kind"] for line in log.read_text().splitlines()]
    assert {"requested", "denied", "started", "finished"} <= set(kinds)
    assert pair.host.cli("audit", "verify", str(log)).returncode == 0
    asked = [
        record
        for line in (pair.client.home / "audit.jsonl").read_text().splitlines()
        if (record := json.loads(line))["kind"] == "remote" and "by" in record
    ]
    assert asked[-1]["argv"] == ["cat"]
    assert asked[-1]["by"] == f"uid:{os.getuid()}"


def test_trust_taken_away_counts_at_once(pair: Pair) -> None:
    """Without a restart; trusted again, it counts again."""
    asks = identity(pair.client)
    assert pair.host.cli("exec", "contacts", "remove", "laptop").returncode == 0
    denied = json.loads(pair.exec("web1", "--json", "--", "cat").stdout)
    know(pair.host, "laptop", asks)

    assert denied["denial_reason"] == "untrusted"
    assert pair.exec("web1", "--", "cat").returncode == 0


def test_check_validates_without_starting_anything(pair: Pair, tmp_path: Path) -> None:
    """Exit 0 for the list in use; 2 and the line for one that is wrong; 2 for none."""
    good = pair.client.cli("check", "--exec-acl", str(pair.acl))
    assert (good.returncode, "1 pair, 5 commands, enabled" in good.stdout) == (0, True)
    bad = tmp_path / "bad.toml"
    bad.write_text(pair.acl.read_text().replace("<INT>", "<NUMBER>"))
    done = pair.client.cli("check", "--exec-acl", str(bad))
    assert done.returncode == 2
    assert f"{bad}:8: " in done.stderr
    assert pair.client.cli("check", "--exec-acl", str(tmp_path / "none")).returncode == 2


def serve(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run `sayso serve`, which is expected to exit on its own."""
    return run(
        [sys.executable, "-m", "bot", "serve", *words],
        cwd=ROOT,
        env={**os.environ, "SAYSO_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("content", [None, "[exec]\nenabled = 1\n"])
def test_a_missing_explicit_and_a_malformed_acl_prevent_the_start(
    tmp_path: Path, content: str | None
) -> None:
    """S4 "ACL location": both exit with code 2 and name the file; nothing listens."""
    path = tmp_path / "acl.toml"
    if content is not None:
        path.write_text(content)
    done = serve(tmp_path / "home", "--exec-acl", str(path))

    assert done.returncode == 2
    assert str(path) in done.stderr
    assert not (tmp_path / "home" / "gateway.sock").exists()


def test_a_missing_default_acl_disables_exec_and_the_gateway_starts(tmp_path: Path) -> None:
    """The configured listener is open, and tells trusted callers that exec is off."""
    gateway = write(tmp_path / "home", remote={"listen": ["127.0.0.1:0"]})
    gateway.start()
    try:
        shown = gateway.json("diagnostics", "exec")
    finally:
        gateway.stop()

    assert (shown["enabled"], shown["acl"]) == (False, None)
    assert len(shown["listening"]) == 1


def test_a_host_that_stops_leaves_nothing_behind(pair: Pair) -> None:
    """SIGTERM during a run: its client is told, its process ends."""
    waiting = start(
        [sys.executable, "-m", "bot", "exec", "web1", "--json", "--", "sleep", "602"],
        cwd=ROOT,
        env=pair.client.environ(),
        stdout=subprocess.PIPE,
        text=True,
    )
    wait_until("the session", lambda: pair.host.json("exec", "sessions")["sessions"])
    began = time.monotonic()
    assert pair.host.stop() == 0
    told, _ = waiting.communicate(timeout=20)

    assert json.loads(told)["warnings"] == ["host_stopping"]
    assert time.monotonic() - began < 10
    gone = json.loads(pair.exec("web1", "--json", "--", "cat").stdout)
    assert gone["denial_reason"] == "unreachable"


def test_a_locked_down_gateway_asks_nobody(pair: Pair) -> None:
    """The host is gone by now: an error other than that shows that it was not tried."""
    path = pair.client.home / "lockdown"
    path.write_text("{}")
    path.chmod(0o600)
    denied = json.loads(pair.exec("web1", "--json", "--", "cat").stdout)

    assert denied["denial_reason"] == "locked_down"
