"""Check the arguments of Exec: exactly those of S3 §2, each fault with its place."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.gate.tools.arguments import ExecArguments, Faults, read_arguments
from core.gate.tools.redaction import recorded_argv
from tests.support.tables import rows

ECHO = ["/bin/echo"]


def faults(**args: Any) -> str:
    """Return what is wrong with arguments that must be refused."""
    found = read_arguments({"argv": ECHO, **args})
    assert isinstance(found, Faults), found
    return found.sentence


def accepted(**args: Any) -> ExecArguments:
    """Return arguments that must be accepted."""
    found = read_arguments({"argv": ECHO, **args})
    assert isinstance(found, ExecArguments), found
    return found


def test_what_is_left_out_has_the_defaults_of_the_page() -> None:
    """No environment, 60 seconds, 256 KB a stream."""
    assert ExecArguments(("/bin/echo",), None, (), 60, 262_144) == accepted()


@rows(
    "args, says",
    [
        ({"timeout_s": 0}, "timeout_s must be from 1 to 600"),
        ({"timeout_s": 601}, "timeout_s must be from 1 to 600"),
        ({"timeout_s": -1}, "timeout_s must be from 1 to 600"),
        ({"timeout_s": True}, "timeout_s must be a whole number, not true or false"),
        ({"timeout_s": 1.5}, "timeout_s must be a whole number, not a number with decimals"),
        ({"timeout_s": "60"}, "timeout_s must be a whole number, not a string"),
        ({"timeout_s": None}, "timeout_s must be a whole number, not null"),
        ({"max_output_bytes": 1023}, "max_output_bytes must be from 1024 to 4194304"),
        ({"max_output_bytes": 4 * 1024 * 1024 + 1}, "max_output_bytes must be from 1024 to"),
        ({"max_output_bytes": False}, "max_output_bytes must be a whole number, not true"),
        ({"cwd": "work"}, "cwd must be an absolute path"),
        ({"cwd": ""}, "cwd is empty"),
        ({"cwd": None}, "cwd must be a string, not null"),
        ({"cwd": "/a\0b"}, "cwd holds a NUL character"),
        ({"env": ["A=b"]}, "env must be an object of strings, not a list"),
        ({"env": None}, "env must be an object of strings, not null"),
        ({"env": {"A": None}}, "env['A'] must be a string, not null"),
        ({"env": {"A": 1}}, "env['A'] must be a string, not a number"),
        ({"env": {"A": {"b": "c"}}}, "env['A'] must be a string, not an object"),
        ({"env": {"_A": "b"}}, "env['_A'] is reserved"),
        ({"env": {"_": "b"}}, "env['_'] is reserved"),
        ({"env": {"": "b"}}, "a name in env is empty"),
        ({"env": {"A=B": "c"}}, "env['A=B'] is not a valid name"),
        ({"env": {"A\0": "c"}}, "a name in env holds a NUL character"),
        ({"env": {"A": "b\0"}}, "env['A'] holds a NUL character"),
        ({"env": {"A": "\ud800"}}, "env['A'] holds a lone surrogate"),
        ({"env": {3: "b"}}, "a name in env must be a string, not a number"),
        ({"argv": ["/bin/echo", "\udcff"]}, "argv[1] holds a lone surrogate"),
        ({"argv": ["/bin/echo\0"]}, "argv[0] holds a NUL character"),
        ({"argv": [""]}, "argv[0] is empty"),
        ({"argv": ["/bin/echo", "x" * 131_072]}, "the maximum is 131072"),
        ({"stdin": "text"}, "'stdin' is not an argument of Exec"),
        ({"shell": True}, "'shell' is not an argument of Exec"),
        ({"timeoutS": 3}, "'timeoutS' is not an argument of Exec"),
    ],
)
def test_each_fault_is_named_with_its_place(args: dict[str, Any], says: str) -> None:
    """Bounds, types, reserved names, odd characters, unknown arguments."""
    assert says in faults(**args)


@pytest.mark.parametrize(
    "args",
    [
        {"timeout_s": 1},
        {"timeout_s": 600},
        {"max_output_bytes": 1024},
        {"max_output_bytes": 4_194_304},
        {"env": {"FOO": "bar", "CC_X": "", "A_": "=_"}},
        {"cwd": "/"},
        {"argv": ["/bin/echo", "; rm -rf /", "é", "\n"]},
    ],
)
def test_the_bounds_themselves_are_taken(args: dict[str, Any]) -> None:
    """A value on a bound is inside."""
    wish = accepted(**args)
    for name, value in args.items():
        found = getattr(wish, name)
        assert value == (dict(found) if name == "env" else list(found) if name == "argv" else found)


def test_every_fault_of_a_call_is_told_at_once() -> None:
    """An agent fixes them all before it tries again."""
    said = faults(argv=["echo", 1], cwd="x", timeout_s=0, more=1)

    assert said.count(";") == 4
    assert "argv is missing" in read_arguments({}).sentence  # type: ignore[union-attr] # refused


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)
NAMES = st.sampled_from(["argv", "cwd", "env", "timeout_s", "max_output_bytes", "x"])


@given(st.dictionaries(NAMES, JSON))
def test_any_json_is_taken_or_refused_and_never_breaks(args: dict[str, Any]) -> None:
    """What is accepted is what the page promises, whatever was sent."""
    found = read_arguments(args)
    if isinstance(found, Faults):
        assert found.found
        return
    assert found.argv
    assert found.argv[0].startswith("/")
    assert all(found.argv)
    assert 1 <= found.timeout_s <= 600
    assert not any(name.startswith("_") for name, _ in found.env)


@pytest.mark.parametrize(
    "args",
    [
        {"argv": [1] * 100_000},
        {"x" * 100_000: 1},
        {f"argument{number}": 1 for number in range(100_000)},
        {"env": {"_" + "x" * 100_000: 1}},
        {"env": {f"_{number}": "" for number in range(100_000)}},
    ],
    ids=["words", "a long name", "names", "a long variable", "variables"],
)
def test_however_much_is_wrong_little_is_said(args: dict[str, Any]) -> None:
    """The sentence is masked and recorded while everything else waits."""
    assert len(faults(**args)) < 2_000


def test_what_was_refused_is_recorded_in_part() -> None:
    """No one has checked or granted it, and all of it would take seconds to mask."""
    record = recorded_argv(["x" * 10_000, *("y" * 1_000 for _ in range(2_000))])

    assert isinstance(record, list)
    assert sum(map(len, record)) < 5_000
    assert record[-1] == "\u2026 and 2000 more"
    assert recorded_argv(["/bin/ls", 1, None]) == ["/bin/ls", "<int>", "<NoneType>"]
