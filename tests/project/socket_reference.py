"""Write ``docs/reference/exec-approvals-socket.md``: the protocol, with its tested vectors."""
# ruff: noqa: E501, RUF001 - prose of a page, wrapped as pages are

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.companion.frames import MAX_FRAME, TTL_MS, Question, Refusal
from core.companion.limits import A_SECOND, BURST, MOST_OPEN, MOST_WAITING

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "exec-approvals-socket.md"
VECTORS = ROOT / "tests" / "vectors" / "exec_approvals_socket.json"

_HEAD = f"""\
# exec-approvals.sock

Generated from the code and from `tests/vectors/exec_approvals_socket.json` by `make docs`; a test compares.

Over this Unix socket a gateway asks a *companion*: a program of the same user that shows a dialog and returns
the answer. `sayso companion` is one; this page is all that another one needs. The companion listens, the
gateway connects for each question. The companion decides nothing: the gateway treats its answer like one from
a chat.

## Where

[`exec-approvals.json`](approvals-file.md) (mode 0600) has both secrets of the address:

| Key | Holds |
| --- | --- |
| `socket.path` | the socket; a leading `~` is the home directory. Without it: `exec-approvals.sock` beside the file |
| `socket.token` | any text; its UTF-8 bytes are the key of every signature, nothing is decoded |

The companion creates the socket with mode 0600 in a folder of mode 0700. Each side asks the kernel for the
other's user (`SO_PEERCRED`, `LOCAL_PEERCRED`) and closes the connection, without a byte, if it is not its own.

## Frames

A frame is one JSON object in UTF-8 on one line that ends with a line feed (0x0A), {MAX_FRAME:,} bytes at most
with it. Readers refuse a frame with an unknown or missing key, a duplicate key, a value of another type, NaN
or infinity, NUL or half a surrogate pair in a string, or more than 32 levels. Numbers are integers below
2^53; times are milliseconds since 1970-01-01 UTC. `nonce` is 32, `hmac` and `digest` are 64 lower-case
hexadecimal digits, `id` is 26 characters of `0-9a-z`, `code` is 6 of `0-9A-Z`.

```text
companion ─▶ challenge
gateway   ─▶ request                 requestJson: hello or ask
companion ─▶ ready                   to hello; then the connection ends
          or shown                   to ask: the dialog is open
          or refused                 to either; then the connection ends
companion ─▶ answer                  a key was pressed; again, if the reply did not accept it
gateway   ─▶ reply                   what became of the answer
gateway   ─▶ ended                   answered here or elsewhere, withdrawn, too late: the dialog closes
```

Either side may close the connection at any time. The dialog then closes, and nothing was decided by it.

## Signatures

`hmac` is HMAC-SHA256 with the token's bytes as the key, over these lines, joined by one line feed each,
without one at the end:

| Frame | Lines |
| --- | --- |
| `request` | `sayso-companion-1`, `request`, nonce, ts, SHA-256 of `requestJson` in hex |
| `ready` | `sayso-companion-1`, `ready`, nonce |
| `shown` | `sayso-companion-1`, `shown`, nonce, id, digest |
| `answer` | `sayso-companion-1`, `answer`, nonce, id, digest, decision |

`nonce` is that of this connection's challenge, `ts` is the request's as decimal digits, SHA-256 is taken of
the UTF-8 bytes of the string `requestJson` as it is after the frame was decoded. Compare signatures in
constant time.

## What a companion checks

In this order; the first failure is answered with `refused` and its reason, and the connection ends. Nothing
is shown before the last check.

| Check | Limit | Reason |
| --- | --- | --- |
| the peer's user is our own | – | closed without a byte |
| connections of one process | {BURST} at once, {A_SECOND:.0f} a second after that | `rate_limited` |
| connections that have not authenticated | {MOST_WAITING}; the oldest is closed for a further one | closed without a byte |
| the request comes in time | {TTL_MS / 1000:.0f} s after the challenge (`ttlMs`) | `timed_out` |
| its length | {MAX_FRAME:,} bytes (`maxBytes`) | `too_large` |
| its form | as above; `version` is 1 | `bad_frame` |
| `nonce` is the one that was sent on this connection | once | `stale` |
| `ts` | within {TTL_MS / 1000:.0f} s of the companion's clock | `stale` |
| `hmac` | – | `unauthenticated` |
| the form of `requestJson` | `kind` is `hello` or `ask` | `bad_frame` |
| the question is not open already | by `id` | `already_shown` |
| open dialogs | {MOST_OPEN} | `busy` |

**Replay.** A nonce is 128 random bits, belongs to one connection, and is accepted once, within {TTL_MS / 1000:.0f} s.
A frame that was recorded is therefore refused on every other connection, also after the companion was
restarted, and no list of old nonces is needed. An answer is bound to the nonce, the question and the digest of
its plan.

## What a gateway checks

The listener's user, the form of each frame, each signature, and that the decision is among the `answers` it
offered. The companion has 2 s to open the dialog; a slower one counts as not there. What then follows is
[asking](../explanation/asking.md#the-companion).

## What a dialog shows

`requestJson` of an `ask`. Texts are ready to be shown: secrets are masked, odd characters are escaped. Show
`command` whole; show `front` in front, `details` on request, both as they are. Offer `answers` and no others.

| Key | Holds |
| --- | --- |
"""

_MEANINGS = {
    "kind": "`ask`",
    "id": "the approval's id, which is also its run's",
    "code": "the short code that people type",
    "command": "the command with its arguments, whole",
    "whole": "false: it is too long to be shown, and can only be denied",
    "warning": "what people must know first, such as that a shell reads the line; or empty",
    "cwd": "the working folder",
    "agent": "the agent's id",
    "session": "its session",
    "host": "`gateway`, `sandbox`, or `node` and its name",
    "security": "`tools.exec.security` as it applies, or empty",
    "ask": "`tools.exec.ask` as it applies, or empty",
    "resolved": "each program that starts, by its resolved path",
    "reasons": "why a person is asked",
    "front": "the lines that an answer is decided by: `label`, `value`",
    "details": "the other lines: `label`, `value`",
    "answers": "`allow-once`, `allow-always`, `deny`: those that may be pressed",
    "digest": "SHA-256 of the bound plan; what an answer counts for",
    "deadlineMs": "when the question ends, by the gateway's clock",
    "leftMs": "the time until then; count down from it, clocks may differ",
}

_BOUNDARY = """
`reply` has `accepted` and `words`; one that was not accepted (somebody who is no approver) leaves the dialog
open. `ended` has `words`. `refused` has `reason` (a word of the table above) and `words`.

## What this protects, and what not

The token keeps out programs that cannot read `exec-approvals.json`; peer credentials keep out other users, even
if they could. **A process of the same user can read the token, remove the socket and listen in the companion's
place.** What the gateway adds is what it adds to `sayso approve` ([SECURITY.md](../../SECURITY.md)):

- The kernel says which process listens. Its answer never counts for a request from the same kernel session, nor
  if a run of Sayso started it, whatever sessions lie in between; such a listener is not even asked.
- What was requested over the network with a token is not answered here.
- The answer is that of `companion` and the listener's user, `uid:1000`; it counts only if that account is among
  the approvers. It is recorded so in the journal.

A program of the same user that makes a session of its own, outside of Sayso, can answer as that user, here as
everywhere. Give agents [a user of their own](../how-to/agents-as-another-user.md): then none of this is theirs.

## Not in version 1

A companion might also *execute* the command in its own context. Version 1 has no frame for that: what was
allowed runs on the gateway.

## Test vectors

Every line feed at the end of a frame is left out here.
"""


def vectors() -> dict[str, Any]:
    """Return the vectors of the file."""
    found: dict[str, Any] = json.loads(VECTORS.read_text(encoding="utf-8"))
    return found


def page() -> str:
    """Return the text of the page.

    Raises:
        ValueError: a key of a dialog, or a reason of a refusal, is not on the page.
    """
    keys = [info.alias or name for name, info in Question.model_fields.items()]
    if keys != list(_MEANINGS):
        raise ValueError(f"the page's keys are not the dialog's: {keys}")
    if missing := [one for one in Refusal if f"`{one}`" not in _HEAD]:
        raise ValueError(f"the page does not name {missing}")
    rows = "".join(f"| `{key}` | {words} |\n" for key, words in _MEANINGS.items())
    return f"{_HEAD}{rows}{_BOUNDARY}{''.join(_samples())}"


def _samples() -> Iterator[str]:
    found = vectors()
    yield f"\n| | |\n| --- | --- |\n| token | `{found['token']}` |\n"
    yield f"| nonce | `{found['nonce']}` |\n| ts | `{found['ts']}` |\n"
    yield from _block("challenge", found["challenge"])
    for name, one in found["requests"].items():
        yield from _block(f"{name}: `requestJson`", one["requestJson"])
        yield from _block(f"{name}: what is signed", one["message"])
        yield from _block(f"{name}: the request", one["frame"])
    for name in ("ready", "shown"):
        yield from _block(name, found[name])
    for name, frame in found["answers"].items():
        yield from _block(f"answer {name}", frame)
    for name in ("reply", "ended", "refused"):
        yield from _block(name, found[name])


def _block(title: str, text: str) -> Iterator[str]:
    yield f"\n**{title}**\n\n```text\n{text}\n```\n"
