"""Use terminals as a person does, against the gateway of this user; print what was seen as JSON.

Run by tests/e2e/test_terminals.py as the gateway's user, in new namespaces.
"""

import base64
import json
import os
import pwd
import re
import signal
import subprocess
import sys
import termios
from pathlib import Path
from typing import Any

import httpx
from websockets.sync.client import connect

from tests.support.terminal import Screen, in_terminal, terminal
from tests.support.waiting import wait_until

SAYSO = (sys.executable, "-m", "bot")
OPEN = (*SAYSO, "terminal", "--agent", "coder", "--cwd", "/srv/work", "--shell", "/bin/sh")
Seen = dict[str, Any]


def sayso(*words: str) -> Any:
    """Run a command in its own session, as in another terminal of the person's."""
    done = subprocess.run(
        [*SAYSO, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        start_new_session=True,
        check=False,
        timeout=60,
    )
    return (done.returncode, done.stdout, done.stderr)


def allow() -> str:
    """Allow the one question that waits; return what it asks."""

    def look() -> Any:
        found = json.loads(sayso("pending", "--json")[1] or "[]")
        return found if isinstance(found, list) else found.get("approvals")

    (question,) = wait_until("a question", look)
    code, said, why = sayso("approve", question["id"], "allow-once")
    assert code == 0, said + why
    return str(question["command"])


def by_hand() -> Seen:
    """Open one with the CLI at a real terminal: whoami, a size, keys, `~.`, and back again."""
    seen: Seen = {}
    with terminal("/bin/sh", "-i") as (shell, master):
        screen = Screen(master)
        before = termios.tcgetattr(master)
        termios.tcsetwinsize(master, (33, 111))
        screen.type(" ".join(OPEN) + "; echo code=$?.\n")
        seen["asked"] = allow()
        wait_until("it to open", is_open)
        screen.type("echo I am $(whoami).\n")
        screen.wait_for(f"I am {USER}.")
        screen.type("stty size\n")
        screen.wait_for("33 111")
        termios.tcsetwinsize(master, (44, 122))
        os.killpg(os.tcgetpgrp(master), signal.SIGWINCH)
        wait_until("the new size", lambda: "44 122" in typed_size(screen))
        screen.type("cat\n")
        wait_until("cat", lambda: processes("-x", "cat"))
        screen.type("\x1b[A\x03")
        screen.wait_for("^C")  # what arrives with it may be discarded (termios(3), NOFLSH)
        screen.type("echo af''ter\n")
        screen.wait_for("after")
        seen["raw"] = termios.tcgetattr(master)[3] & termios.ICANON == 0
        screen.type("\n~.")
        screen.wait_for("code=0.")
        seen["restored"] = termios.tcgetattr(master)[:4] == before[:4]
        (open_now,) = json.loads(sayso("terminal", "--list", "--json")[1])
        terminal_id = open_now["terminal_id"]
        seen["elsewhere"] = in_terminal(*SAYSO, "terminal", "--attach", terminal_id)
        screen.type(" ".join((*SAYSO, "terminal", "--attach", terminal_id)) + "; echo code=$?.\n")
        screen.wait_for(f"I am {USER}.")  # what was shown before
        screen.type("exit 7\n")
        screen.wait_for("code=7.")
        seen["restored again"] = termios.tcgetattr(master)[:4] == before[:4]
        shell.kill()
    return seen


def is_open() -> bool:
    """Return whether a terminal is open that has a size."""
    found = json.loads(sayso("terminal", "--list", "--json")[1])
    return any(one["rows"] and not one["ended"] for one in found)


def typed_size(screen: Screen) -> str:
    """Ask for the size again; return what is shown."""
    screen.type("stty size; echo do''ne\n")
    screen.wait_for("done")
    return screen.text


def over_http(url: str, tokens: dict[str, str]) -> Seen:
    """Open one with REST; type, read and follow it; let others try."""
    seen: Seen = {}
    with httpx.Client(base_url=url, headers=bearer(tokens["coder"]), timeout=60) as mine:
        opened = mine.post("/v1/terminals", json={"cwd": "/srv/work", "shell": "/bin/sh"})
        seen["opened"] = (opened.status_code, opened.json()["status"])
        terminal_id = opened.json()["terminal_id"]
        allow_over_http(url, tokens["boss"])
        path = f"/v1/terminals/{terminal_id}"
        typed = {"data": "echo rest: $(whoami)\n"}
        wait_until("it to open", lambda: mine.post(f"{path}/input", json=typed).status_code == 200)
        wait_until("whoami", lambda: f"rest: {USER}" in shown(mine, path))
        size = mine.post(f"{path}/resize", json={"rows": 51, "columns": 99})
        seen["size"] = (size.status_code, size.json()["rows"], size.json()["columns"])
        foreign = {}
        for who in ("other", "reader", "same"):
            with httpx.Client(base_url=url, headers=bearer(tokens[who]), timeout=60) as theirs:
                foreign[who] = [
                    theirs.get(f"{path}/output").status_code,
                    theirs.post(f"{path}/input", json=typed).status_code,
                    theirs.post(f"{path}/resize", json={"rows": 5, "columns": 9}).status_code,
                    theirs.delete(path).status_code,
                ]
        seen["foreign"] = foreign
        local = [sayso("terminal", "--attach", terminal_id)[0]]
        seen["local"] = [*local, in_terminal(*SAYSO, "terminal", "--attach", terminal_id)[0]]
        seen["bytes"] = over_websocket(url, tokens, terminal_id)
        ended = mine.delete(path)
        seen["ended"] = (ended.status_code, ended.json()["ended"])
        seen["listed"] = [
            one["terminal_id"] for one in mine.get("/v1/terminals").json()["terminals"]
        ]
        seen["id"] = terminal_id
        opened = mine.post("/v1/terminals", json={"cwd": "/srv/work", "shell": "/bin/sh"})
        unanswered = mine.delete(f"/v1/terminals/{opened.json()['terminal_id']}")
        seen["withdrawn"] = (unanswered.status_code, unanswered.json().get("ended"))
        seen["revoked"] = revoked(url, tokens, mine)
    return seen


def revoked(url: str, tokens: dict[str, str], mine: httpx.Client) -> tuple[bool, int]:
    """Revoke the token of an open one; return whether it was open, and what is left of it."""
    opened = mine.post("/v1/terminals", json={"cwd": "/srv/work", "shell": "/bin/sh"})
    allow_over_http(url, tokens["boss"])
    typed = {"data": "trap '' HUP TERM\n"}
    path = f"/v1/terminals/{opened.json()['terminal_id']}/input"
    wait_until("it to open", lambda: mine.post(path, json=typed).status_code == 200)
    alive = processes() > 0
    assert sayso("token", "revoke", "one")[0] == 0
    wait_until("its end", lambda: not processes())
    return alive, processes()


def allow_over_http(url: str, token: str) -> None:
    """Allow the one question: what came over the network is answered over the network."""
    with httpx.Client(base_url=url, headers=bearer(token), timeout=60) as boss:
        listed = wait_until("a question", lambda: boss.get("/v1/approvals").json()["pending"])
        (question,) = listed
        answer = boss.post(
            f"/v1/approvals/{question['id']}/resolve", json={"decision": "allow-once"}
        )
        assert answer.status_code == 200, answer.text


def bearer(token: str) -> dict[str, str]:
    """Return a token's header."""
    return {"Authorization": f"Bearer {token}"}


def shown(client: httpx.Client, path: str) -> str:
    """Return what a terminal showed."""
    answer = client.get(f"{path}/output", params={"after": 0, "waitMs": 200})
    return base64.b64decode(answer.json()["data"]).decode(errors="replace")


def over_websocket(url: str, tokens: dict[str, str], terminal_id: str) -> Seen:
    """Follow it over /ws until every byte was shown; another caller's token sees none of it."""
    address = url.replace("http", "ws") + "/ws"
    every = "".join(f"\\{n:03o}" for n in range(256))
    with (
        connect(address, additional_headers=bearer(tokens["coder"]), max_size=None) as mine,
        connect(address, additional_headers=bearer(tokens["same"]), max_size=None) as theirs,
    ):
        for socket in (mine, theirs):
            call(socket, 1, "terminal.attach", {"id": terminal_id, "after": 0})
        refused = json.loads(theirs.recv(30))
        call(mine, 2, "terminal.input", {"id": terminal_id, "data": "stty raw -echo\n"})
        line = f"printf '<<{every}>>'; stty sane\n"
        call(mine, 3, "terminal.input", {"id": terminal_id, "data": line})
        seen = b""
        while b">>" not in seen.partition(b"<<\x00")[2]:
            frame = json.loads(mine.recv(30))
            if frame.get("method") == "terminal.output":
                seen += base64.b64decode(frame["params"]["data"])
        body = seen.partition(b"<<\x00")[2].partition(b">>")[0]
        return {
            "whole": b"\x00" + body == bytes(range(256)).replace(b">>", b"") or list(body[:8]),
            "refused": "No request has the id" in refused["error"]["message"],
        }


def call(socket: Any, number: int, method: str, params: Seen) -> None:
    """Call a method."""
    socket.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}))


def killed(gateway: int) -> Seen:
    """Kill the gateway with one open; nothing of it may be left, and the tty is restored."""
    with terminal("/bin/sh", "-i") as (shell, master):
        screen = Screen(master)
        before = termios.tcgetattr(master)
        screen.type(" ".join(OPEN) + "; echo code=$?.\n")
        allow()
        wait_until("it to open", is_open)
        screen.type("setsid sleep 1000 & echo bac''kground\n")
        screen.wait_for("background")
        alive = processes()
        os.kill(gateway, signal.SIGKILL)
        screen.wait_for("code=")
        # The words may be the echo of what was typed, before the client has ended.
        wait_until("the modes of the terminal", lambda: termios.tcgetattr(master)[:4] == before[:4])
        wait_until("their end", lambda: not processes())
        shell.kill()
    return {"alive": alive > 0, "left": processes()}


def processes(*more: str) -> int:
    """Return the number of processes of the terminals' user."""
    words = ["/usr/bin/pgrep", "-u", USER, "-c", *more]
    done = subprocess.run(words, capture_output=True, check=False)
    return int(done.stdout or 0)


def token(name: str, *words: str) -> str:
    """Make a token at a terminal."""
    code, said = in_terminal(*SAYSO, "token", "create", name, *words)
    found = re.findall(r"^sayso_\w+$", said, re.MULTILINE)
    assert code == 0, said
    assert found, said
    return str(found[0])


USER = "sayso_alice"


def main() -> None:
    """Run all of it."""
    pwd.getpwnam(USER)
    gateway, log = int(sys.argv[1]), Path(sys.argv[2])
    asks = ("--scope", "request", "--scope", "read", "--agent")
    in_terminal(*SAYSO, "people", "add", "ann")
    tokens = {
        "boss": token("five", "--scope", "approve", "--scope", "read", "--person", "ann"),
        "coder": token("one", *asks, "coder"),
        "same": token("two", *asks, "coder"),
        "other": token("three", *asks, "other"),
        "reader": token("four", "--scope", "read"),
    }
    (url,) = set(re.findall(r"http://127\.0\.0\.1:\d+", log.read_text()))
    seen = {"by hand": by_hand(), "over http": over_http(url, tokens), "killed": killed(gateway)}
    print("SEEN " + json.dumps(seen))


if __name__ == "__main__":
    main()
