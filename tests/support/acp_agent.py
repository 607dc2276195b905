"""Be a small agent that speaks the Agent Client Protocol: what its prompt says, it does.

::

    write PATH        ask, and write the file if allowed once
    run LINE          ask about a command line, and run it by its own shell if allowed once
    twice PATH        ask for two files at once
    model             ask the model, and say what it answered
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

OPTIONS = [
    {"optionId": "yes-for-good", "name": "Always", "kind": "allow_always"},
    {"optionId": "yes-1", "name": "Once", "kind": "allow_once"},
    {"optionId": "no-1", "name": "No", "kind": "reject_once"},
]


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def hear():
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def say(text):
    content = {"type": "text", "text": text}
    update({"sessionUpdate": "agent_message_chunk", "content": content})


def update(words):
    send({"method": "session/update", "params": {"sessionId": "s1", "update": words}})


def permit(number, call):
    params = {"sessionId": "s1", "toolCall": call, "options": OPTIONS}
    send({"id": number, "method": "session/request_permission", "params": params})


def outcome(number):
    """Wait for the answer to a permission; whatever else comes meanwhile is kept apart."""
    while True:
        message = hear()
        if message.get("id") == number and "method" not in message:
            return message["result"]["outcome"]


def write(path, number="p1"):
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
        with open(path, "w") as file:
            file.write("made by the agent\n")
    say(json.dumps(found))


def run(line):
    call = {"toolCallId": "c", "title": line, "kind": "execute", "rawInput": {"command": line}}
    permit("p1", call)
    found = outcome("p1")
    if found.get("optionId") == "yes-1":
        done = subprocess.run(["/bin/sh", "-c", line], capture_output=True, text=True)
        say(done.stdout)
    else:
        say(json.dumps(found))


def model():
    url, token = os.environ["ANTHROPIC_BASE_URL"], os.environ["ANTHROPIC_API_KEY"]
    body = json.dumps({"say": "hello"}).encode()
    asked = urllib.request.Request(f"{url}/v1/messages", body, {"x-api-key": token})
    with urllib.request.urlopen(asked) as answer:
        say(answer.read().decode())


def work(text):
    word, _, rest = text.partition(" ")
    if word == "write":
        write(rest)
    elif word == "run":
        run(rest)
    elif word == "twice":
        for number in ("p1", "p2"):
            write(f"{rest}.{number}", number)
    elif word == "model":
        model()
    elif word == "show":
        say(json.dumps({"argv": sys.argv, "env": dict(os.environ), "uid": os.getuid()}))
    elif word == "hang":
        subprocess.Popen(["sleep", "1000"], start_new_session=True)
        say("hanging")
        while True:
            hear()
    elif word == "die":
        sys.stderr.write("it is dead\n")
        os._exit(3)
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
