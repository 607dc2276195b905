"""Return the seven fields of S3's result, whatever a program prints."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.gate.tools.results import result_of
from core.model.identity import ApprovalId
from core.model.result import Finished, Output, Stream, Streams
from core.model.stdio import Stdio


def ended(stdout: bytes = b"", *, total: int | None = None, signal: int | None = None) -> Finished:
    """Return the end of a run that printed this."""
    kept = Stream(stdout, len(stdout) if total is None else total)
    code = None if signal else 0
    return Finished(ApprovalId("r"), code, signal, Output(), 123, streams=Streams(kept))


def test_the_fields_are_those_of_the_page() -> None:
    """Names, types and units of S3 §2."""
    assert {
        "exit_code": 0,
        "stdout": "one\n",
        "stderr": "",
        "stdout_truncated": False,
        "stderr_truncated": False,
        "duration_s": 0.123,
        "timed_out": False,
    } == result_of(ended(b"one\n"), Stdio())


def test_a_signal_is_told_as_its_negative() -> None:
    """As in Python's own subprocess, because `exit_code` is a number."""
    assert -15 == result_of(ended(signal=15), Stdio())["exit_code"]


@pytest.mark.parametrize(
    ("data", "total", "text", "cut"),
    [
        ("é".encode() * 4, 8, "éééé", False),
        (b"abc\xc3", 9, "abc", True),  # the cap fell inside a character
        (b"abc\xc3", 4, "abc\ufffd", False),  # the program itself ended so
        (b"a\xffb", 3, "a\ufffdb", False),
    ],
)
def test_text_is_utf_8_with_replacements(data: bytes, total: int, text: str, *, cut: bool) -> None:
    """A character that the cap cut in two is left out; what is not UTF-8 becomes U+FFFD."""
    result = result_of(ended(data, total=total), Stdio())

    assert (text, cut) == (result["stdout"], result["stdout_truncated"])


@given(st.binary(max_size=64), st.integers(0, 9), st.integers(1, 48))
def test_no_more_bytes_than_asked_for(data: bytes, beyond: int, most: int) -> None:
    """Replacements are longer than what they replace; the bound still applies."""
    kept = data[:most]
    total = len(data) + beyond
    result = result_of(ended(kept, total=total), Stdio(most_stdout=most))
    text = str(result["stdout"])

    assert len(text.encode()) <= most
    if not result["stdout_truncated"]:
        assert text == data.decode(errors="replace")


def test_what_only_the_store_kept_counts_as_cut() -> None:
    """A run that ended on another gateway has one text; nothing claims that it is complete."""
    stored = Finished(ApprovalId("r"), 3, None, Output("both", "both", 4), 5)
    result = result_of(stored, Stdio())

    assert (3, "both", "") == (result["exit_code"], result["stdout"], result["stderr"])
    assert (True, True) == (result["stdout_truncated"], result["stderr_truncated"])
