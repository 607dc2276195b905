"""Check the arguments of Exec, each on its own, and name every one that is wrong (S3 §2).

Only shapes are checked here; ``core.gate.tools.files`` checks what is on the disk.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import cast

from core.model.stdio import STREAM_BYTES
from core.planning.request_checks import LARGEST_COMMAND

_TIMEOUT_S = (1, 600)
_OUTPUT_BYTES = (1_024, 4 * 1024 * 1024)
_RESERVED = "_"
_MOST_FAULTS = 16
_MOST_SHOWN = 64
"""Characters of a name; it may be anything, and all of the sentence is masked for the journal."""


@dataclass(frozen=True, slots=True)
class ExecArguments:
    """Checked arguments. ``timeout_s`` is wall clock; ``max_output_bytes`` counts per stream."""

    argv: tuple[str, ...]
    cwd: str | None = None
    env: tuple[tuple[str, str], ...] = ()
    timeout_s: int = 60
    max_output_bytes: int = STREAM_BYTES


@dataclass(frozen=True, slots=True)
class Faults:
    """What is wrong with a call's arguments, in words that say where."""

    found: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """Return all of it as one sentence."""
        return "; ".join(self.found)


def read_arguments(args: Mapping[str, object]) -> ExecArguments | Faults:
    """Return what a call asks for, or what is wrong with it: all, unless that is too much."""
    found = tuple(islice(_faults(args), _MOST_FAULTS))
    if found:
        return Faults(found)
    given = dict(args)
    given["argv"] = tuple(cast("list[str]", args["argv"]))
    given["env"] = tuple(sorted(cast("dict[str, str]", args.get("env", {})).items()))
    return _of_size(ExecArguments(**given))  # type: ignore[arg-type]  # each was checked above


def _faults(args: Mapping[str, object]) -> Iterator[str]:
    for name in args:
        if name not in _CHECKS:
            yield f"{_shown(name)} is not an argument of Exec"
    if "argv" not in args:
        yield "argv is missing"
    for name, check in _CHECKS.items():
        if name in args:
            yield from check(args[name])


def _shown(name: str) -> str:
    return f"{name[:_MOST_SHOWN]!a}{'…' * (len(name) > _MOST_SHOWN)}"


def _of_size(request: ExecArguments) -> ExecArguments | Faults:
    words = [*request.argv, *(part for pair in request.env for part in pair)]
    size = sum(len(word.encode()) + 1 for word in words)
    if size > LARGEST_COMMAND:
        return Faults((f"argv and env are {size} bytes, and the maximum is {LARGEST_COMMAND}",))
    return request


def _argv(value: object) -> Iterator[str]:
    if not isinstance(value, list):
        yield f"argv must be a list of strings, not {_kind(value)}"
    elif not value:
        yield "argv is empty, and its first element must be a program's absolute path"
    else:
        for place, word in enumerate(value):
            yield from _text(f"argv[{place}]", word)
        if isinstance(value[0], str) and value[0] and not value[0].startswith("/"):
            yield "argv[0] must be an absolute path, no search path is used"


def _cwd(value: object) -> Iterator[str]:
    yield from _text("cwd", value)
    if isinstance(value, str) and value and not value.startswith("/"):
        yield "cwd must be an absolute path"


def _env(value: object) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"env must be an object of strings, not {_kind(value)}"
        return
    for name, text in value.items():
        yield from _text("a name in env", name)
        if isinstance(name, str):
            yield from _text(f"env[{_shown(name)}]", text, empty=True)
            if name.startswith(_RESERVED):
                yield f"env[{_shown(name)}] is reserved: names must not begin with {_RESERVED}"
            if "=" in name:
                yield f"env[{_shown(name)}] is not a valid name: it contains ="


def _whole(name: str, least: int, most: int) -> Callable[[object], Iterator[str]]:
    def check(value: object) -> Iterator[str]:
        # True is an int in Python, but not a number of seconds.
        if not isinstance(value, int) or isinstance(value, bool):
            yield f"{name} must be a whole number, not {_kind(value)}"
        elif not least <= value <= most:
            yield f"{name} must be from {least} to {most}"

    return check


_CHECKS: Mapping[str, Callable[[object], Iterator[str]]] = {
    "argv": _argv,
    "cwd": _cwd,
    "env": _env,
    "timeout_s": _whole("timeout_s", *_TIMEOUT_S),
    "max_output_bytes": _whole("max_output_bytes", *_OUTPUT_BYTES),
}


def _text(where: str, value: object, *, empty: bool = False) -> Iterator[str]:
    """Yield what keeps a value from being handed to the kernel as a string."""
    if not isinstance(value, str):
        yield f"{where} must be a string, not {_kind(value)}"
    elif not value and not empty:
        yield f"{where} is empty"
    elif "\0" in value:
        yield f"{where} holds a NUL character"
    elif any("\ud800" <= character <= "\udfff" for character in value):
        yield f"{where} holds a lone surrogate, which has no encoding"


_KINDS: Mapping[type, str] = {
    type(None): "null",
    bool: "true or false",
    int: "a number",
    float: "a number with decimals",
    str: "a string",
    list: "a list",
    dict: "an object",
}


def _kind(value: object) -> str:
    """Return the JSON name of the type that was given."""
    return _KINDS.get(type(value), "another kind of value")
