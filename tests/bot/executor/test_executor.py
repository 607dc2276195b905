"""Run the loop over calls, as S2 writes it (Phase 1), on real processes."""

import json
import os
import signal
import socket
import time
from typing import Any

from core.isolation import wire
from core.runner.supervisor.processes import procfs
from tests.support.executors import BUILD, Direct, direct
from tests.support.pace import slowness
from tests.support.runs import alive
from tests.support.waiting import wait_until


def answer(executor: Direct, line: bytes) -> Any:
    """Send a line and return the answer."""
    executor.say(line)
    return json.loads(executor.hear())


def call(executor: Direct, method: str, **params: object) -> Any:
    """Call a method; reports that arrive before its answer are skipped."""
    executor.say(wire.request(7, method, params))
    while True:
        for line in executor.hear().splitlines():
            said = json.loads(line)
            if said.get("id") == 7:
                return said


def test_handles_incoming_request(executor_path: str) -> None:
    """S2 "ping (echo request)": the answer has the id, and the time in ms."""
    with direct(executor_path) as executor:
        before = time.time() * 1000
        said = call(executor, "ping")

    assert said["id"] == 7
    assert said["result"]["pong"] is True
    assert before - 1 <= said["result"]["timestamp"] <= time.time() * 1000 + 1


def test_an_unknown_method_is_named(executor_path: str) -> None:
    """S2's default branch, word for word."""
    with direct(executor_path) as executor:
        said = call(executor, "execute_prompts")

    assert said["error"] == {"code": -32601, "message": "Unknown method: execute_prompts"}


def test_handles_malformed_json(executor_path: str) -> None:
    """What is not a call is answered as such, and the next call is served."""
    with direct(executor_path) as executor:
        codes = [
            answer(executor, line)["error"]["code"]
            for line in (b"{nonsense\n", b"\xff\xfe\n", b"[]\n", b"3\n", b'{"id": 1}\n')
        ]
        bad = call(executor, "run")["error"]["code"]
        listed = answer(executor, b'{"id":1,"method":"ping","params":[1]}\n')["error"]["code"]
        after = call(executor, "ping")["result"]["pong"]

    assert codes == [-32700, -32700, -32600, -32600, -32600]
    assert (bad, listed) == (-32602, -32602)
    assert after is True


def test_calls_come_in_pieces_and_in_heaps(executor_path: str) -> None:
    """Frames are lines, however the stream cuts them; a notification is not answered."""
    line = wire.request(1, "ping", {})
    with direct(executor_path) as executor:
        for place in range(len(line)):
            executor.say(line[place : place + 1])
        first = json.loads(executor.hear())
        executor.say(wire.notification("ping", {}) + line * 50)
        heard = b""
        while heard.count(b"\n") < 50:
            heard += executor.hear()

    assert first["result"]["pong"] is True
    assert heard.count(b'"pong"') == 50


def test_a_line_without_end_ends_the_executor(executor_path: str) -> None:
    """No client can fill its memory."""
    with direct(executor_path) as executor:
        try:
            for _ in range(40):
                executor.say(b"x" * 65536)
        except OSError:
            pass
        wait_until("its end", lambda: executor.process.poll() is not None)


def supervisor(executor: Direct, build: str = BUILD) -> tuple[socket.socket, Any]:
    """Have a supervisor started; return the link to it, and the answer."""
    ours, theirs = socket.socketpair()
    line = wire.request(2, "run", {"session_token": "t", "build": build})
    with theirs:
        socket.send_fds(executor.sock, [line], [theirs.fileno()])
        return ours, json.loads(executor.hear())


def test_run_starts_a_supervisor_and_reports_its_end(executor_path: str) -> None:
    """The link that came with the call leads to it; its token is returned with the report."""
    with direct(executor_path) as executor:
        link, said = supervisor(executor)
        pid = said["result"]["pid"]
        running = alive(pid)
        link.close()
        report = json.loads(executor.hear())

    assert running
    assert [pid, executor.process.pid] == [one for one, _ in said["result"]["leaders"]]
    assert report["method"] == "report_completion"
    assert report["params"] == {"session_token": "t", "status": "completed", "left": 0}


def test_another_version_starts_nothing(executor_path: str) -> None:
    """Another gateway's job may mean something else; setup aligns the two."""
    with direct(executor_path) as executor:
        link, said = supervisor(executor, "another")
        link.close()
        none = call(executor, "run", session_token="t", build=BUILD)

    assert "sayso executor setup" in said["error"]["message"]
    assert none["error"]["message"] == "no socket came with the call"


def test_the_end_of_descriptor_0_ends_everything_within_50_ms(executor_path: str) -> None:
    """Best of five, by the machine's pace: the bound is for the executor."""
    took = []
    for _ in range(5):
        with direct(executor_path) as executor:
            link, said = supervisor(executor)
            began = time.monotonic()
            executor.sock.close()
            assert executor.process.wait(20) == 0
            took.append((time.monotonic() - began) / slowness())
            assert not alive(said["result"]["pid"])
            link.close()

    assert min(took) < 0.05, took


def test_term_ends_everything(executor_path: str) -> None:
    """What sudo relays is obeyed at once, although the connection is open."""
    with direct(executor_path) as executor:
        link, said = supervisor(executor)
        executor.process.send_signal(signal.SIGTERM)
        assert executor.process.wait(20) == 0
        assert not alive(said["result"]["pid"])
        link.close()


def test_a_killed_supervisor_is_reported(executor_path: str) -> None:
    """The executor survives and says so."""
    with direct(executor_path) as executor:
        link, said = supervisor(executor)
        os.kill(said["result"]["pid"], signal.SIGKILL)
        report = json.loads(executor.hear())
        pong = call(executor, "ping")["result"]["pong"]
        link.close()

    assert report["params"]["status"] == "completed"
    assert pong is True


def test_end_run_leaves_strangers_alone(executor_path: str) -> None:
    """A pid that another process has by now refers to none of ours."""
    with direct(executor_path) as executor:
        link, said = supervisor(executor)
        pid, ticks = said["result"]["leaders"][0]
        kept = call(executor, "end_run", mark="SAYSO_RUN=nobody", leaders=[[pid, ticks + 1]])
        lives = alive(pid)
        killed = call(executor, "end_run", mark="SAYSO_RUN=nobody", leaders=[[pid, ticks]])
        empty = call(executor, "end_run", mark="", leaders=[])
        link.close()

    assert kept["result"] == {"left": 0}
    assert lives
    assert killed["result"] == {"left": 0}
    assert "error" in empty
    found = procfs.process(pid)
    assert found is None or not found.alive
