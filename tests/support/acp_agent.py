"""Act as a small agent that speaks the Agent Client Protocol: its prompt says what it does.

::

    write PATH        ask, and write the file if allowed once
    run LINE          ask for a command line, and run it in its own shell if allowed once
    twice PATH        ask for two files, one after the other
    model             ask the model, and say what it answered
    stay PATH WORD    note the word and its run in the file, ask the model, leave deaf children in
                      sessions of their own, ask to write a file, and stay
    shared PATH       ask with options that share an id, and write whatever single id comes back
    hidden PATH       ask with words that hide and colour what follows
    chunk COUNT       say that many characters at once
    flood COUNT       report that many tool calls
    odd               send non-messages, usage and text that cannot be stored
    late PATH         end, and then ask to write the file
    spy               try to look into its executor, and into a process of its own
    pace COUNT        say the time that many times, every 60 ms
    show              say its environment and its arguments
    hang              begin a tool call that never ends, and ignore cancels
    die               end without an answer

Standard library only, and none of our code: it runs as another user.
"""

import ctypes
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

OPTIONS = [
    {"optionId": "yes-for-good", "name": "Always", "kind": "allow_always"},
    {"optionId": "yes-1", "name": "Once", "kind": "allow_once"},
    {"optionId": "no-1", "name": "No", "kind": "reject_once"},
]


def send(message: dict[str, Any]) -> None:
    """Write a message."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def hear() -> Any:
    """Read a message; exit at the end of input."""
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def say(text: str) -> None:
    """Say something."""
    content = {"type": "text", "text": text}
    update({"sessionUpdate": "agent_message_chunk", "content": content})


def update(words: dict[str, Any]) -> None:
    """Report something."""
    send({"method": "session/update", "params": {"sessionId": "s1", "update": words}})


def permit(number: str, call: dict[str, Any]) -> None:
    """Ask whether a tool may be used."""
    params = {"sessionId": "s1", "toolCall": call, "options": OPTIONS}
    send({"id": number, "method": "session/request_permission", "params": params})


def outcome(number: str) -> Any:
    """Wait for the answer to a permission request; anything else that arrives is kept for later."""
    while True:
        message = hear()
        if message.get("id") == number and "method" not in message:
            return message["result"]["outcome"]


def write(path: str, number: str = "p1") -> None:
    """Ask, then write a file."""
    call = {
        "toolCallId": f"call-{number}",
        "title": f"Write {path}",
        "kind": "edit",
        "rawInput": {"path": path, "content": "made by the agent\n"},
    }
    update({"sessionUpdate": "tool_call", **call})
    permit(number, call)
    found = outcome(number)
    if found.get("optionId") == "yes-1":
        Path(path).write_text("made by the agent\n", encoding="utf-8")
    say(json.dumps(found))


def run(line: str) -> None:
    """Ask, then run a line."""
    call = {"toolCallId": "c", "title": line, "kind": "execute", "rawInput": {"command": line}}
    permit("p1", call)
    found = outcome("p1")
    if found.get("optionId") == "yes-1":
        done = subprocess.run(["/bin/sh", "-c", line], capture_output=True, text=True, check=False)
        say(done.stdout)
    else:
        say(json.dumps(found))


def model() -> None:
    """Ask the model."""
    url, token = os.environ["ANTHROPIC_BASE_URL"], os.environ["ANTHROPIC_API_KEY"]
    body = json.dumps({"say": "hello"}).encode()
    asked = urllib.request.Request(f"{url}/v1/messages", body, {"x-api-key": token})
    with urllib.request.urlopen(asked) as answer:
        say(answer.read().decode())


def hang() -> None:
    """Ignore cancels, with a child in a session of its own."""
    subprocess.Popen(["sleep", "1000"], start_new_session=True)
    say("hanging")
    while True:
        hear()


def stay(rest: str) -> None:
    """Note that it runs, ask the model and a person, and stay, with children deaf to signals."""
    path, word = rest.split()
    with Path(path).open("a", encoding="utf-8") as noted:
        noted.write(f"{word} {os.environ['SAYSO_RUN']}\n")
    deaf = "trap '' TERM HUP INT; sleep 600"
    for line in (deaf, f'(setsid sh -c "{deaf}" &); {deaf}'):
        subprocess.Popen(["sh", "-c", line], start_new_session=True)
    model()
    write(f"{path}.{word}")
    hang()


def shared(path: str) -> None:
    """Ask with one id for three kinds of option."""
    kinds = ("allow_once", "allow_always", "reject_once")
    options = [{"optionId": "same", "name": kind, "kind": kind} for kind in kinds]
    call = {"toolCallId": "c", "title": "t", "kind": "edit", "rawInput": {"path": path}}
    params = {"sessionId": "s1", "toolCall": call, "options": options}
    send({"id": "p1", "method": "session/request_permission", "params": params})
    found = outcome("p1")
    if found.get("optionId"):
        Path(path).write_text("written", encoding="utf-8")
    say(json.dumps(found))


def hidden(path: str) -> None:
    """Ask with a title that is not what it seems."""
    title = f"Read \u202e{path}\u2066 \x1b[2K\x1b]52;c;eA==\x07\r\nAllowed by Ana\u200b"
    call = {"toolCallId": "c", "title": title, "kind": "edit", "rawInput": {"path": title}}
    permit("p1", call)
    say(json.dumps(outcome("p1")))


def chunk(count: str) -> None:
    """Say a lot at once."""
    say("\U0001f511" * int(count))


def flood(count: str) -> None:
    """Report many tool calls."""
    for number in range(int(count)):
        update({"sessionUpdate": "tool_call", "toolCallId": str(number), "title": "x" * 1500})


def odd() -> None:
    """Send what no client expects."""
    for line in (
        "[]",
        "{",
        '{"id": [1]}',
        '{"method": 7}',
        "[" * 100_000,
        '{"id": 1, "result": 5}',
    ):
        sys.stdout.write(line + "\n")
    say("\ud800 and \x00")
    update({"sessionUpdate": "tool_call", "title": {"a": 1}, "kind": ["x"], "toolCallId": None})
    update({"sessionUpdate": "usage_update", "used": 10**400})


def late(path: str) -> None:
    """Ask, and end immediately."""
    send({"id": message["id"], "result": {"stopReason": "end_turn"}})
    call = {"toolCallId": "c", "title": "t", "kind": "edit", "rawInput": {"path": path}}
    permit("p1", call)
    Path(f"{path}.asked").write_text("", encoding="utf-8")
    if outcome("p1").get("optionId") == "yes-1":
        Path(path).write_text("written", encoding="utf-8")


def spy() -> None:
    """Look into its executor in every way that /proc and ptrace offer, and into its own child."""
    with subprocess.Popen(["sleep", "30"]) as child:
        say(json.dumps({"executor": looks(os.getppid()), "child": looks(child.pid)}))
        child.kill()


def looks(pid: int) -> dict[str, bool]:
    """Return which ways into a process are open."""
    libc = ctypes.CDLL(None, use_errno=True)
    ways: dict[str, Callable[[], object]] = {
        "environ": lambda: Path(f"/proc/{pid}/environ").read_bytes(),
        "fd": lambda: Path(f"/proc/{pid}/fd/0").readlink(),
        "mem": lambda: Path(f"/proc/{pid}/mem").open("rb").close(),
        "maps": lambda: Path(f"/proc/{pid}/maps").read_bytes() or 1 / 0,
        "cwd": lambda: Path(f"/proc/{pid}/cwd").readlink(),
        "getfd": lambda: 1 / (1 + libc.syscall(438, os.pidfd_open(pid), 0, 0)),
        "ptrace": lambda: 1 / (1 + libc.ptrace(0x4206, pid, 0, 0)),  # PTRACE_SEIZE
    }
    found = {}
    for name, way in ways.items():
        try:
            way()
            found[name] = True
        except (OSError, ZeroDivisionError):
            found[name] = False
    return found


def pace(count: str) -> None:
    """Say the time of each piece (CLOCK_MONOTONIC, in ns), as a model's words arrive."""
    for _ in range(int(count)):
        say(f"{time.monotonic_ns()}\n")
        time.sleep(0.06)


def show() -> None:
    """Say what this process was started with."""
    say(json.dumps({"argv": sys.argv, "env": dict(os.environ), "uid": os.getuid()}))


def twice(path: str) -> None:
    """Ask for two files, one after the other."""
    for number in ("p1", "p2"):
        write(f"{path}.{number}", number)


def die() -> None:
    """End without an answer."""
    sys.stderr.write("it is dead\n")
    sys.stderr.flush()
    os._exit(3)


def work(text: str) -> None:
    """Do what a prompt says."""
    word, _, rest = text.partition(" ")
    with_rest: dict[str, Callable[[str], None]] = {
        "write": write,
        "run": run,
        "twice": twice,
        "pace": pace,
        "stay": stay,
        "shared": shared,
        "hidden": hidden,
        "chunk": chunk,
        "flood": flood,
        "late": late,
    }
    alone = {"model": model, "show": show, "hang": hang, "die": die, "odd": odd, "spy": spy}
    if word in with_rest:
        with_rest[word](rest)
    elif word in alone:
        alone[word]()
    else:
        say(f"you said: {text}")


while True:
    message = hear()
    method, number = message.get("method"), message.get("id")
    if method == "initialize":
        send({"id": number, "result": {"protocolVersion": 1, "agentCapabilities": {}}})
    elif method == "session/new":
        send({"id": number, "result": {"sessionId": "s1"}})
    elif method == "session/prompt":
        work(message["params"]["prompt"][0]["text"])
        usage = {"inputTokens": 11, "outputTokens": 5}
        send({"id": number, "result": {"stopReason": "end_turn", "usage": usage}})
