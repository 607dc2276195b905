import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from core.model.command import ExecRequest
from core.model.decision import Decision, Evaluation, Reason
from core.model.identity import ApprovalId, Intake, Requester, SessionKey
from core.model.result import Finished, Output
from core.model.stdio import Stdio
from core.nodes.fingerprints import fingerprint_words
from core.nodes.frames import (
    AnyFrame,
    BadFrame,
    Cancel,
    Ended,
    Prepare,
    Prepared,
    Skills,
    Welcome,
    decode,
    encode,
)
from tests.support.plans import command, plan_of
from tests.support.tables import rows

RUN = ApprovalId("1" * 26)
REQUEST = ExecRequest(Requester(Intake.SOCKET, "uid:0", (1, 2)), SessionKey("main"), "/", "a | b")
VERDICT = Evaluation(Decision.ASK, Reason.NOT_LISTED, "why", ())
FRAMES: tuple[AnyFrame, ...] = (
    Welcome(name="web"),
    Cancel(run_id=RUN),
    Prepare(id="1" * 32, name="web", request=REQUEST, timeout_ms=5),
    Prepare(
        id="1" * 32,
        name="web",
        request=replace(REQUEST, stdio=Stdio(stdin=bytes(range(256)))),
        timeout_ms=5,
    ),
    Prepared(id="1" * 32, plan=plan_of(command("true")), verdict=VERDICT, unasked=False),
    Ended(run_id=RUN, result=Finished(RUN, 0, None, Output("ä\n", "ä\n", 3), 1)),
)


@pytest.mark.parametrize("frame", FRAMES, ids=lambda frame: frame.t)
def test_what_is_sent_is_what_is_read(frame: AnyFrame) -> None:
    """Return plans, verdicts, bytes of input and results unchanged."""
    assert decode(encode(frame)) == frame


@pytest.mark.parametrize("frame", FRAMES, ids=lambda frame: frame.t)
def test_a_frame_with_one_thing_wrong_is_refused(frame: AnyFrame) -> None:
    """A key more or less, at the top and inside, or a doubled key; the control decodes."""
    text = encode(frame)
    good = json.loads(text)
    decode(json.dumps(good))
    bad = [json.dumps({**good, "more": 1}), json.dumps({**good, "t": "other"})]
    bad += [
        json.dumps({k: v for k, v in good.items() if k != name}) for name in good if name != "v"
    ]
    bad += [text[:-1] + f',"t":"{frame.t}"}}', text[:-1], f"[{text}]"]
    for inner in ("request", "plan", "result", "verdict"):
        if inner in good:
            bad.append(json.dumps({**good, inner: {**good[inner], "more": 1}}))
    for one in bad:
        with pytest.raises(BadFrame):
            decode(one)


VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "node_frames.json").read_text())


@rows("kind", VECTORS["frames"])
def test_a_frame_is_written_as_in_the_vectors(kind: str) -> None:
    """What is read from a vector is written back byte for byte; every kind has one."""
    text = VECTORS["frames"][kind]
    frame = decode(text)
    assert (frame.t, encode(frame)) == (kind, text)
    assert len(VECTORS["frames"]) == len(get_args(AnyFrame))


def test_the_vectors_are_signed_as_the_page_says() -> None:
    """Ed25519 of the seeds, over the bytes that the page names, without our code."""
    node = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(VECTORS["node_seed"]))
    gateway = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(VECTORS["gateway_seed"]))
    hello, auth, run = (json.loads(VECTORS["frames"][one]) for one in ("hello", "auth", "run"))
    proof = f"{hello['nonce']} {hello['gateway']} {auth['session']}".encode()
    assert bytes.fromhex(VECTORS["auth_signed"]) == b"sayso-node-v1\0" + proof
    assert auth["signature"] == node.sign(b"sayso-node-v1\0" + proof).hex()
    payload = run["payload"].encode()
    assert run["signature"] == gateway.sign(b"sayso-node-run-v1\0" + payload).hex()
    assert VECTORS["node"] == node.public_key().public_bytes_raw().hex() == auth["node_id"]
    assert fingerprint_words(VECTORS["node"]) == VECTORS["words"]


def test_the_plan_of_the_vectors_has_its_digest() -> None:
    """Computed from the page: canonical JSON of what is bound."""
    plan = json.loads(VECTORS["frames"]["prepared"])["plan"]
    (command,) = plan["commands"]
    file = [command["executable"][key] for key in ("path", "realpath", "device", "inode", "size")]
    bound = {
        **{key: plan[key] for key in ("agent", "connectors", "env", "host", "node", "node_name")},
        **{key: plan[key] for key in ("requested_env", "session", "text", "timeout_ms")},
        "unreadable": None,
        "version": 1,
        "cwd": [plan["cwd"][key] for key in ("path", "device", "inode")],
        "commands": [
            {
                "argv": command["argv"],
                "executable": [*file, command["executable"]["sha256"]],
                "operands": [],
                "problem": "",
            }
        ],
    }
    text = json.dumps(bound, sort_keys=True, separators=(",", ":"))
    assert hashlib.sha256(text.encode()).hexdigest() == plan["digest"]


def test_what_is_too_large_or_no_unicode_is_not_sent() -> None:
    """The other side would end the connection because of it."""
    with pytest.raises(BadFrame, match="larger"):
        encode(Skills(bins=("\x01" * 255,) * 10_000))
    with pytest.raises(BadFrame, match="Unicode"):
        encode(Ended(run_id=RUN, result=Finished(RUN, 0, None, Output("\ud800", "", 3), 1)))
    with pytest.raises(BadFrame, match="binary"):
        decode(b"{}")
