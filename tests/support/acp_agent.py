"""Be a small agent that speaks the Agent Client Protocol: what its prompt says, it does.

::

    write PATH        ask, and write the file if allowed once
    run LINE          ask about a command line, and run it by its own shell if allowed once
    twice PATH        ask for two files, one after the other
    model             ask the model, and say what it answered
    stay PATH WORD    note the word and its run in the file, ask the model, leave deaf children in
                      sessions of their own, ask to write a file, and stay
    show              say its environment and its arguments
    hang              begin a tool call that never ends, and hear no cancel
    die               end without an answer

Standard library only, and nothing of ours: it runs as another user.
"""

import json
import os
import subprocess
import sys
import urllib.request
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
    """Read a message; end with the input."""
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
    """Wait for the answer to a permission; whatever else comes meanwhile is kept apart."""
    while True:
        message = hear()
        if message.get("id") == number and "method" not in message:
            return message["result"]["outcome"]


def write(path: str, number: str = "p1") -> None:
    """Ask, and write a file."""
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
    """Ask, and run a line."""
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
    """Hear no cancel, with a child in a session of its own."""
    subprocess.Popen(["sleep", "1000"], start_new_session=True)
    say("hanging")
    while True:
        hear()


def stay(rest: str) -> None:
    """Note that it runs, ask the model and people, and stay with a family that hears nothing."""
    path, word = rest.split()
    with Path(path).open("a", encoding="utf-8") as noted:
        noted.write(f"{word} {os.environ['SAYSO_RUN']}\n")
    deaf = "trap '' TERM HUP INT; sleep 600"
    for line in (deaf, f'(setsid sh -c "{deaf}" &); {deaf}'):
        subprocess.Popen(["sh", "-c", line], start_new_session=True)
    model()
    write(f"{path}.{word}")
    hang()


def show() -> None:
    """Say what this process is."""
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
    with_rest = {"write": write, "run": run, "twice": twice, "stay": stay}
    alone = {"model": model, "show": show, "hang": hang, "die": die}
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
