"""Check that our code and a client written from the page both compute the page's vectors."""

import ast
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from core.companion import frames
from core.companion.signing import Purpose, is_signed, sign, sign_request, sign_result
from core.planning.digest import digest_of
from tests.core.companion.desks import VECTORS
from tests.support import page_client

FOUND: dict[str, Any] = json.loads(VECTORS.read_text(encoding="utf-8"))
TOKEN, NONCE, TS = FOUND["token"], FOUND["nonce"], FOUND["ts"]


@pytest.mark.parametrize("kind", ["hello", "ask", "run"])
def test_requests_are_signed_as_the_vectors_are(kind: str) -> None:
    """Ours and the page's client sign a request alike, and read the frame of the vector."""
    vector = FOUND["requests"][kind]
    request = frames.read_request(vector["frame"].encode())

    assert vector["hmac"] == sign_request(TOKEN, NONCE, TS, vector["requestJson"])
    assert vector["hmac"] == page_client.request(TOKEN, NONCE, TS, vector["requestJson"])["hmac"]
    assert (vector["hmac"], vector["requestJson"]) == (request.hmac, request.request_json)
    assert vector["requestJson"] == frames.text_of(frames.read_asked(request.request_json))


def test_answers_are_signed_as_the_vectors_are() -> None:
    """Each of the three answers has a signature of its own, over the plan's digest."""
    asked = frames.read_asked(FOUND["requests"]["ask"]["requestJson"])
    assert isinstance(asked, frames.Question)
    for decision, line in FOUND["answers"].items():
        found = frames.read_from_server(line.encode())
        assert isinstance(found, frames.AnswerFrame)
        ours = sign(TOKEN, Purpose.ANSWER, NONCE, asked.id, asked.digest, decision)
        theirs = page_client.sign(TOKEN, "answer", NONCE, asked.id, asked.digest, decision)
        assert found.hmac == ours == theirs


def test_every_frame_is_written_as_in_the_vectors() -> None:
    """What is read from a vector is written back byte for byte."""
    read = {
        "challenge": frames.read_challenge,
        "ready": frames.read_from_server,
        "shown": frames.read_from_server,
        "refused": frames.read_from_server,
        "taken": frames.read_from_server,
        "cancel": frames.read_cancel,
        "reply": frames.read_from_client,
        "ended": frames.read_from_client,
    }
    for name, reader in read.items():
        line = FOUND[name]
        assert frames.line_of(reader(line.encode())) == line.encode() + b"\n", name


@pytest.mark.parametrize("kind", ["ran", "not_run"])
def test_results_are_signed_as_the_vectors_are(kind: str) -> None:
    """How a run ended is signed with its id and its digest, and read back as it was written."""
    vector = FOUND["results"][kind]
    order = frames.read_asked(FOUND["requests"]["run"]["requestJson"])
    assert isinstance(order, frames.RunOrder)
    found = frames.read_from_server(vector["frame"].encode())
    assert isinstance(found, frames.Result)
    text = vector["resultJson"]

    assert found.hmac == sign_result(TOKEN, NONCE, order.id, order.digest, text)
    digest = hashlib.sha256(text.encode()).hexdigest()
    assert found.hmac == page_client.sign(TOKEN, "result", NONCE, order.id, order.digest, digest)
    assert text == frames.text_of(frames.read_outcome(found.result_json))
    assert order.digest == order.plan.digest == digest_of(order.plan)


@pytest.mark.parametrize("part", range(4))
def test_a_signature_is_for_all_of_its_parts(part: int) -> None:
    """Another token, nonce, time or text has another signature; the same has the same."""
    right = (TOKEN, NONCE, TS, "{}")
    other = tuple(
        one if at != part else one + (1 if isinstance(one, int) else "x")
        for at, one in enumerate(right)
    )

    assert is_signed(sign_request(*right), sign_request(*right))
    assert not is_signed(sign_request(*right), sign_request(*other))


def test_the_client_of_the_page_imports_nothing_of_ours() -> None:
    """The proof that the page is enough uses the standard library alone."""
    tree = ast.parse(Path(page_client.__file__).read_text(encoding="utf-8"))
    named = {
        (node.module if isinstance(node, ast.ImportFrom) else node.names[0].name) or ""
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }

    assert named == {"hashlib", "hmac", "json", "pathlib", "socket", "time", "typing"}
