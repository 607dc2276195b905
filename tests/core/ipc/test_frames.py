"""Read one line as one request, or refuse it with the code that JSON-RPC 2.0 gives it."""

import json

import pytest

from core.ipc.errors import Code, FrameError
from core.ipc.frames import MAX_FRAME, Call, error_frame, read_frame, result_frame
from core.ipc.strict_json import MAX_NESTING
from tests.support.tables import rows

GOOD = b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[1,2.5,null,true,"\\u00e9"]}}\n'


def with_params(text: str) -> bytes:
    """Return a request whose params contain a JSON text."""
    return ('{"jsonrpc":"2.0","id":1,"method":"m","params":{"x":' + text + "}}\n").encode()


@pytest.mark.parametrize("frame_id", [1, 0, -5, "a", "é", None])
def test_a_request_is_read(frame_id: int | str | None) -> None:
    """Integer and string ids pass; without one it is a notification."""
    frame: dict[str, object] = {"jsonrpc": "2.0", "method": "m", "params": {"a": 1}}
    if frame_id is not None:
        frame["id"] = frame_id
    assert read_frame(json.dumps(frame).encode()) == Call(frame_id, "m", {"a": 1})


def test_params_may_be_left_out() -> None:
    """No params are empty params."""
    assert read_frame(b'{"jsonrpc":"2.0","id":1,"method":"m"}').params == {}


def test_values_come_through_exactly() -> None:
    """Numbers, text and nesting up to the limit are what was sent."""
    assert read_frame(GOOD).params == {"a": [1, 2.5, None, True, "é"]}
    deep = MAX_NESTING - 2
    assert read_frame(with_params("[" * (deep - 1) + "]" * (deep - 1))).id == 1
    flat = with_params(json.dumps([[] for _ in range(1000)]))
    assert len(read_frame(flat).params["x"]) == 1000  # type: ignore[arg-type]  # a list


@rows(
    "line, code",
    [
        (b"\n", Code.PARSE_ERROR),
        (b"hello\n", Code.PARSE_ERROR),
        (GOOD[:-3], Code.PARSE_ERROR),
        (GOOD[:-1] + b"{}\n", Code.PARSE_ERROR),
        (GOOD.replace(b"m", b"\xff"), Code.PARSE_ERROR),
        (GOOD.replace(b"m", b"\xed\xa0\x80"), Code.PARSE_ERROR),
        (GOOD.replace(b'"m"', b'"\0"'), Code.PARSE_ERROR),
        (b"\xef\xbb\xbf" + GOOD, Code.PARSE_ERROR),
        (with_params("NaN"), Code.PARSE_ERROR),
        (with_params("-Infinity"), Code.PARSE_ERROR),
        (with_params("1e999"), Code.PARSE_ERROR),
        (with_params("9" * 21), Code.PARSE_ERROR),
        (with_params("9" * 5000), Code.PARSE_ERROR),
        (with_params("[" * 100_000), Code.PARSE_ERROR),
        (with_params("[" * 100_000 + "]" * 100_000), Code.PARSE_ERROR),
        (with_params("[" * MAX_NESTING + "]" * MAX_NESTING), Code.PARSE_ERROR),
        (with_params('{"a":1,"a":2}'), Code.PARSE_ERROR),
        (GOOD.replace(b'"id":1', b'"id":1,"id":2'), Code.PARSE_ERROR),
        (with_params('"\\u0000"'), Code.INVALID_PARAMS),
        (with_params('"\\ud800"'), Code.INVALID_PARAMS),
        (with_params('["a",{"\\udfff":1}]'), Code.INVALID_PARAMS),
        (b"[" + GOOD[:-1] + b"]\n", Code.INVALID_REQUEST),
        (b"[]\n", Code.INVALID_REQUEST),
        (b"3\n", Code.INVALID_REQUEST),
        (b'"m"\n', Code.INVALID_REQUEST),
        (GOOD.replace(b"2.0", b"1.0"), Code.INVALID_REQUEST),
        (GOOD.replace(b'"m"', b"7"), Code.INVALID_REQUEST),
        (GOOD.replace(b'"m"', b'"' + b"m" * 201 + b'"'), Code.INVALID_REQUEST),
        (GOOD.replace(b'"params"', b'"Params"'), Code.INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":1,"result":1}\n', Code.INVALID_REQUEST),
        (GOOD.replace(b'"id":1', b'"id":null'), Code.INVALID_REQUEST),
        (GOOD.replace(b'"id":1', b'"id":true'), Code.INVALID_REQUEST),
        (GOOD.replace(b'"id":1', b'"id":1.5'), Code.INVALID_REQUEST),
        (GOOD.replace(b'"id":1', b'"id":"\\ud800"'), Code.INVALID_REQUEST),
        (GOOD.replace(b'"id":1', b'"id":[]'), Code.INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}\n', Code.INVALID_PARAMS),
    ],
)
def test_everything_odd_is_refused(line: bytes, code: Code) -> None:
    """Each refusal has its code and a sentence, and is not the valid frame of the control."""
    with pytest.raises(FrameError) as caught:
        read_frame(line)
    assert caught.value.code is code
    assert str(caught.value)
    assert read_frame(GOOD).id == 1


def test_answers_are_one_ascii_line() -> None:
    """No value can end a frame early or arrive with two readings."""
    result = {"x": "é\n\ud800", "y": None}
    line = result_frame("a", result)
    assert line.isascii()
    assert line.count(b"\n") == 1
    assert json.loads(line) == {
        "jsonrpc": "2.0",
        "id": "a",
        "result": {"x": "é\n\ud800", "y": None},
    }
    assert json.loads(error_frame(None, Code.FAILED, "no", {"type": "X"}))["error"] == {
        "code": -32000,
        "message": "no",
        "data": {"type": "X"},
    }


@pytest.mark.parametrize("result", [float("nan"), object(), "x" * MAX_FRAME])
def test_a_result_that_is_no_frame_is_refused(result: object) -> None:
    """What cannot be written is an error here, not at the reader."""
    with pytest.raises((TypeError, ValueError)):
        result_frame(1, result)
