import json
from dataclasses import replace

import pytest

from core.model.command import ExecRequest
from core.model.decision import Decision, Evaluation, Reason
from core.model.identity import ApprovalId, Intake, Requester, SessionKey
from core.model.result import Finished, Output
from core.model.stdio import Stdio
from core.nodes.frames import (
    LARGEST,
    AnyFrame,
    BadFrame,
    Cancel,
    Ended,
    Prepare,
    Prepared,
    Welcome,
    decode,
    encode,
)
from tests.support.plans import command, plan_of

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
    """Plans, verdicts, bytes of input and results come back equal."""
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


def test_what_is_too_large_or_no_unicode_is_not_sent() -> None:
    """The other side would end the connection for it."""
    with pytest.raises(BadFrame, match="larger"):
        encode(Welcome(name="x" * (LARGEST + 1)))
    with pytest.raises(BadFrame, match="Unicode"):
        encode(Welcome(name="\ud800"))
    with pytest.raises(BadFrame, match="binary"):
        decode(b"{}")
