"""`sayso diagnostics exec` is a table for people."""

import pytest

from bot.cli.exec.diagnostics import table

COUNTS: dict[str, object] = {
    "enabled": True,
    "listening": ["127.0.0.1:8790", "unix:/run/sayso.sock"],
    "active_sessions": 2,
    "denied": {"argv_not_allowed": 3, "unknown_agent": 1},
    "warnings": {},
    "recent_warnings": [{"at_ms": 1_000, "agent": "ab12", "warning": "timed_out"}],
    "acl": {"pairs": 1, "max_stdout_bytes": 16},
}


def test_each_count_has_a_line_and_one_column_for_values() -> None:
    """Names as people say them, several values below each other, no JSON."""
    assert table(COUNTS).splitlines() == [
        "enabled                        yes",
        "listening                      127.0.0.1:8790",
        "listening                      unix:/run/sayso.sock",
        "active sessions                2",
        "denied: argv_not_allowed       3",
        "denied: unknown_agent          1",
        "warnings                       none",
        "recent warnings                1970-01-01 00:00:01Z  ab12  timed_out",
        "access list: pairs             1",
        "access list: max_stdout_bytes  16",
    ]


@pytest.mark.parametrize("value", [None, [], {}])
def test_what_is_not_there_is_none(value: object) -> None:
    """No brackets and no null."""
    assert table({"acl": value}) == "access list  none\n"
