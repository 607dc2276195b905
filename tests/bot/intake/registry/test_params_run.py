"""Read strictly the params by which a run reads and is followed."""

import base64
from dataclasses import replace

import pytest

from bot.intake.callers.caller import Caller
from bot.intake.registry.params import RunParams, read
from bot.intake.results.outcomes import output, reads_output
from bot.intake.results.questions import ApprovalsAnswer
from core.errors import BadRequest
from core.ipc.frames import MAX_FRAME, result_frame
from core.model.access import EVERY_SCOPE
from core.model.identity import AgentId, Intake, Requester
from core.model.stdio import LARGEST_STDIN, PLAIN_STDIO, Capture, Stdio
from core.text.render import show_command
from tests.contracts.channel_examples import approval, plan
from tests.support.tables import rows

WHO = Requester(Intake.SOCKET, "uid:1", (1, 1))


def wish(**more: object) -> RunParams:
    """Return the params of a run."""
    return read(RunParams, {"command": "cat", "cwd": "/", **more})


def test_input_arrives_byte_by_byte() -> None:
    """Base64 becomes bytes, up to exactly 1 MiB; without any nothing is read."""
    full = bytes(LARGEST_STDIN)
    for data in (b"", b"a", b"\xff\x00\n", full):
        request = wish(stdin=base64.b64encode(data).decode()).request(WHO)
        assert request.stdio.stdin == data
    assert wish().request(WHO).stdio == PLAIN_STDIO
    assert wish(capture="separate").request(WHO).stdio.capture is Capture.SEPARATE


@rows(
    "odd",
    [
        "a",
        "YQ",
        "YQ==\n",
        "Y!Q=",
        "YQ==YQ==",
        "é",
        7,
        base64.b64encode(bytes(1 << 20) + b"x").decode(),
    ],
)
def test_what_is_no_input_is_refused(odd: object) -> None:
    """Sloppy base64, another type and one byte too many; the value is never repeated."""
    with pytest.raises(BadRequest, match="stdin") as refused:
        wish(stdin=odd)

    assert len(str(refused.value)) < 200


def test_only_whose_output_it_is_reads_it_raw() -> None:
    """A network caller that is bound to no agent gets output redacted, so no stream."""
    assert not reads_output(Caller(WHO, None, EVERY_SCOPE))
    assert reads_output(Caller(WHO, None, EVERY_SCOPE, agents=frozenset({AgentId("main")})))


def test_line_ends_are_kept_whoever_reads() -> None:
    """What is masked loses a secret, never the lines around it."""
    secret = "ghp_" + "Zz9" * 12
    reader = Caller(WHO, None, EVERY_SCOPE)
    for text in ("a\n", "a", "a\n\n", "\n", ""):
        assert output(text, reader) == text
    shown = output(f"a\n{secret}\n", reader)
    assert shown.startswith("a\n")
    assert shown.endswith("\n")
    assert secret not in shown


def test_a_list_of_questions_fits_into_a_frame() -> None:
    """Whatever is read, the list can be sent; a single question is shown whole."""
    many = [
        approval(replace(plan(("cat",)), stdio=Stdio(stdin="\u202e\u0009".encode() * 20_000)))
        for _ in range(40)
    ]
    answer = ApprovalsAnswer.of(many)
    rows = answer.pending

    assert len(result_frame(1, answer.as_json())) < MAX_FRAME
    assert rows[0].command == show_command(many[0].plan).text
    assert "characters; query this one alone)" in rows[-1].command
    assert [row.id for row in rows] == [question.id for question in many]
    assert len(result_frame(1, ApprovalsAnswer.of(many[:1]).as_json())) < MAX_FRAME
