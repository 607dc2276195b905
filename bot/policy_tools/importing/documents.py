"""Parse another product's file into plain values, with one clear sentence if it is invalid."""

import json
import re
import tomllib
from pathlib import Path

from bot.settings.home import read_file
from bot.settings.json5_file import read_json5
from core.errors import BadRequest

LARGEST = 1_048_576
"""Maximum bytes of a file; anything larger is not a policy."""
_DEEPEST = 64
"""Maximum levels of a document. Real ones have six at most."""
_LONGEST_JSON5 = 131_072
"""Maximum characters of a text that is tried as JSON5, which is parsed at 0.1 MB per second."""
_SKIPPED = re.compile(r'("[^"\\]*+(?:\\.[^"\\]*+)*")|//[^\n\r]*|/\*.*?\*/', re.DOTALL)
_TRAILING = re.compile(r'("[^"\\]*+(?:\\.[^"\\]*+)*")|,(?=\s*[\]}])', re.DOTALL)


def read_text(path: Path) -> str:
    """Return the text of a file.

    Raises:
        BadRequest: it is not a file, is too large, or is not UTF-8.
    """
    try:
        data, _ = read_file(path, LARGEST)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise BadRequest(f"{path} cannot be read: {why}. Name a file.") from error
    return decoded(data, path.name)


def decoded(data: bytes, name: str) -> str:
    """Return bytes as text, without a byte order mark.

    Raises:
        BadRequest: there are too many, or they are not UTF-8.
    """
    if len(data) > LARGEST:
        raise BadRequest(
            f"{name} is larger than {LARGEST:,} bytes. Name the file that holds the rules."
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadRequest(
            f"{name} is not UTF-8 text at byte {error.start}. Save it as UTF-8."
        ) from error
    if "\0" in text:
        raise BadRequest(f"{name} holds a NUL character. Name a text file.")
    return text


def read_json(text: str, name: str) -> object:
    """Return the value of JSON, with comments and trailing commas, or of JSON5.

    Raises:
        BadRequest: it is none of these, is nested too deeply, or has a key twice.
    """
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_constant)
    except RecursionError as error:
        raise _too_deep(name) from error
    except _Repeated as error:
        raise BadRequest(f"{name}: {error}") from error
    except ValueError as error:
        found = _read_commented(text, name)
        if found is not None:
            return found[0]
        raise BadRequest(f"{name} is not JSON: {error}. Correct that line.") from error


def _read_commented(text: str, name: str) -> tuple[object] | None:
    plain = _TRAILING.sub(r"\1", _SKIPPED.sub(lambda match: match[1] or " ", text))
    try:
        return (json.loads(plain, object_pairs_hook=_object, parse_constant=_constant),)
    except RecursionError as error:
        raise _too_deep(name) from error
    except _Repeated as error:
        raise BadRequest(f"{name}: {error}") from error
    except ValueError:
        pass
    if len(text) > _LONGEST_JSON5 or not text.strip():
        return None
    if _depth(text) > _DEEPEST:
        raise _too_deep(name)
    document = read_json5(text, name)
    if not document.problems:
        return (document.value,)
    problem = document.problems[0]
    if "duplicate" in problem.message:
        raise BadRequest(f"{problem.place}: {problem.message}. Keep one of the two.")
    return None


def read_toml(text: str, name: str) -> dict[str, object]:
    """Return the table of a TOML document.

    Raises:
        BadRequest: it is not TOML, or is nested too deeply.
    """
    try:
        found = tomllib.loads(text)
    except RecursionError as error:
        raise _too_deep(name) from error
    except ValueError as error:
        raise BadRequest(f"{name} is not TOML: {error}. Correct that line.") from error
    check_depth(found, name)
    return found


def check_depth(value: object, name: str) -> None:
    """Refuse a document that is nested more deeply than any real one.

    Raises:
        BadRequest: it is.
    """
    level: list[object] = [value]
    for _ in range(_DEEPEST):
        level = [inner for one in level for inner in _inside(one)]
        if not level:
            return
    raise _too_deep(name)


def _inside(value: object) -> list[object]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _depth(text: str) -> int:
    deepest = depth = 0
    for mark in text:
        depth += (mark in "[{") - (mark in "]}")
        deepest = max(deepest, depth)
    return deepest


def _too_deep(name: str) -> BadRequest:
    return BadRequest(
        f"{name} is nested more than {_DEEPEST} levels deep. Name the file that holds the rules."
    )


class _Repeated(ValueError):
    """An object has a key twice, and which of the two counts is undefined."""


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            raise _Repeated(
                f"the key {key[:60]!r} appears twice in one object. Keep one of the two."
            )
        found[key] = value
    return found


def _constant(word: str) -> object:
    raise ValueError(f"{word} is no JSON")
