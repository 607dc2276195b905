import threading
import time
from contextlib import ExitStack, closing
from pathlib import Path

import httpx

from tests.bot.api import raw_sockets
from tests.bot.api.event_stream import events_of, stream
from tests.support.api_gateway import ApiGateway, api_gateway
from tests.support.waiting import wait_until


def test_events_come_as_they_happen_and_are_resumed(home: ApiGateway) -> None:
    """What was reported before, what happens now, and after a break only what came since."""
    home.ask("true", session="sse", wait=5)
    path = "/v1/events/stream?session=sse"
    with stream(home, "agent", path) as events:
        first = [next(events) for _ in range(2)]
        run = threading.Timer(0.2, home.ask, ("echo more",), {"session": "sse", "wait": 5})
        run.start()
        then = [next(events) for _ in range(2)]
        run.join()

    assert [one["id"] for one in (*first, *then)] == ["1", "2", "3", "4"]
    assert [one["event"] for one in first] == ["exec.started", "exec.finished"]
    assert "more" in then[1]["data"]["text"]
    with stream(home, "agent", path, **{"Last-Event-ID": "3"}) as events:
        assert next(events)["id"] == "4"
    with stream(home, "agent", f"{path}&seq=2") as events:
        assert next(events)["id"] == "3"
    with stream(home, "other", path) as events:
        home.ask("echo its own", who="other", session="sse")
        assert "its own" in [next(events), next(events)][1]["data"]["text"]


def test_a_run_is_watched_to_its_end(home: ApiGateway) -> None:
    """Output arrives while the command runs, and then how it ended."""
    for pause_s in (0.5, 4):  # what arrives only at the end does so each time
        # Not with a shell: `echo` prints at once, `sleep` delays the end.
        line = f"echo one && sleep {pause_s} && echo two"
        asked = home.ask(line, session="watch", wait=0.1)
        with stream(home, "agent", f"/v1/runs/{asked['id']}/output") as events:
            first = next(events)
            began = time.monotonic()
            rest = list(events)
            took = time.monotonic() - began
        if first["data"]["text"] == "one\n" and took > 0.2:
            break

    printed = "".join(one["data"]["text"] for one in (first, *rest) if one["event"] == "output")
    assert (first["event"], first["data"]["text"]) == ("output", "one\n")
    assert printed == "one\ntwo\n"
    assert took > 0.2
    assert (rest[-1]["event"], rest[-1]["data"]["exitCode"]) == ("end", 0)


def test_a_run_that_has_ended_is_still_read(home: ApiGateway) -> None:
    """Its stored output and then its end arrive on the stream; the tail has both in one answer."""
    secret = "ghp_" + "Zz9" * 12
    asked = home.ask(f"echo {secret}", session="late", wait=5)
    path = f"/v1/runs/{asked['id']}"
    found = {}
    for who in ("agent", "reader"):
        with stream(home, who, f"{path}/output") as events:
            told, end = list(events)
        tail = home.client(who).get(f"{path}/tail").json()
        found[who] = (told["event"], told["data"]["text"], end["event"], tail)

    assert found["agent"][:3] == ("output", f"{secret}\n", "end")
    assert found["reader"][1] == found["reader"][3]["text"]
    assert found["reader"][1].endswith("]\n"), "line ends are the same whoever reads"
    assert secret not in str(found["reader"])
    tail = found["agent"][3]
    assert (tail["running"], tail["text"], tail["totalBytes"]) == (False, f"{secret}\n", 41)
    assert tail["how"] == asked["how"]


def test_the_tail_of_what_did_not_run_says_so(home: ApiGateway) -> None:
    """Denied, not answered yet, and unknown are three answers."""
    client = home.client("agent")
    denied, asked = home.ask("true", security="deny"), home.ask("uname -s", session="t")
    tails = [client.get(f"/v1/runs/{one['id']}/tail").json() for one in (denied, asked)]

    nothing = {"running": False, "text": "", "totalBytes": 0}
    assert tails[0] == {**nothing, "how": "denied (security_deny)"}
    assert tails[1] == {**nothing, "how": None}
    assert home.client("reader").get("/v1/runs/zzzz/tail").status_code == 404


def test_a_question_is_watched_to_its_end(home: ApiGateway) -> None:
    """A watcher of what people are being asked about sees it run, or not."""
    asked = home.ask("uname -s", session="watch")
    path = f"/v1/approvals/{asked['id']}/resolve"
    yes = {"decision": "allow-once"}
    press = threading.Timer(0.3, home.client("person").post, (path,), {"json": yes})
    press.start()
    with stream(home, "agent", f"/v1/runs/{asked['id']}/output") as events:
        found = list(events)
    press.join()

    assert found[-1]["data"]["status"] == "finished"
    assert found[-1]["data"]["output"] == "Linux\n"


def test_a_stream_ends_with_its_token(home: ApiGateway) -> None:
    """A revoked token receives nothing more, even on an open stream."""
    with stream(home, "asker", "/v1/events/stream?session=ends") as events:
        home.ask("true", who="agent", session="ends", wait=5)
        assert next(events)["event"] == "exec.started"
        next(events)
        home.revoke("asker")
        home.ask("true", who="agent", session="ends", wait=5)
        assert list(events) == []


def test_what_is_not_there_is_told_before_the_stream_begins(home: ApiGateway) -> None:
    """An unknown run and a bad number are answered like on any route."""
    client = home.client("agent")
    bad = {"Last-Event-ID": "-1"}

    assert client.get("/v1/runs/zzzz/output").status_code == 404
    assert client.get("/v1/events/stream?session=a", headers=bad).status_code == 400
    assert client.get("/v1/events/stream").status_code == 400


def test_a_client_that_left_and_a_stop_end_a_stream(tmp_path: Path) -> None:
    """One slot for streams: it is free again when its client is gone; a stop waits for none."""
    with api_gateway(tmp_path / "home", limits={"waiting": 1}) as home:
        path = "/v1/events/stream?session=place"
        with closing(raw_sockets.connect(home)) as connection:
            connection.sendall(raw_sockets.head(home, "agent", "GET", path) + b"\r\n")
            assert b"200 OK" in connection.recv(65_536)
            assert home.client("other").get(path).status_code == 503
        with ExitStack() as held:

            def opened() -> httpx.Response | None:
                asked = home.client("other").stream("GET", path)
                answer = held.enter_context(asked)
                return answer if answer.status_code == 200 else None

            events = events_of(wait_until("the place", opened))
            stop = threading.Timer(0.2, home.loop.call_soon_threadsafe, (home.ended.set,))
            stop.start()
            began = time.monotonic()
            assert list(events) == []
            stop.join()
            assert time.monotonic() - began < 3
