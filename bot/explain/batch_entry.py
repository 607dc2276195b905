"""Parse one line of a batch: who would ask, for what, and under which policy."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeVar

from core.errors import BadRequest
from core.model.command import ExecRequest
from core.model.identity import DEFAULT_AGENT, AgentId, Intake, Requester, SessionKey
from core.model.policy import (
    DEFAULT_SAFE_BINS,
    ExecAsk,
    ExecHost,
    ExecPolicy,
    ExecSecurity,
    Trust,
)
from core.policy.matching.argv_template import ArgvTemplate

Word = TypeVar("Word", bound=StrEnum)
_NOTHING = object()
_BASE = ExecPolicy(host=ExecHost.GATEWAY, security=ExecSecurity.ALLOWLIST)
REQUESTER = Requester(Intake.SOCKET, "explain")
SESSION = SessionKey("explain")


@dataclass(frozen=True, slots=True)
class Entry:
    """One parsed line of a batch."""

    request: ExecRequest
    policy: ExecPolicy
    allowlist: tuple[str, ...]
    acl: tuple[ArgvTemplate, ...] | None


def parse_line(line: bytes) -> dict[str, object]:
    """Return the JSON object of a line.

    Raises:
        BadRequest: the line is not a JSON object.
    """
    try:
        found = json.loads(line)
    except json.JSONDecodeError as error:
        raise BadRequest(f"The line is not JSON: {error.msg} (column {error.colno}).") from error
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"The line is not JSON: {error}.") from error
    if not isinstance(found, dict):
        raise BadRequest("Expected a JSON object.")
    return found


def entry_of(fields: Mapping[str, object], cwd: str) -> Entry:
    """Parse a batch object; unknown keys are ignored.

    Raises:
        BadRequest: a field has another type than the contract says.
        ConfigError: the ACL contains an unknown template.
    """
    request = ExecRequest(
        requester=REQUESTER,
        session=SESSION,
        cwd=_text(fields, "cwd") or cwd,
        line=_text(fields, "command"),
        argv=_texts(fields, "argv"),
        agent=AgentId(_text(fields, "agent") or DEFAULT_AGENT),
        env=_env(fields),
    )
    if (request.line is None) == (request.argv is None):
        raise BadRequest("Give exactly one of `command` and `argv`.")
    policy = replace(
        _BASE,
        security=_word(fields, "security", ExecSecurity.ALLOWLIST),
        ask=_word(fields, "ask", ExecAsk.ON_MISS),
        trust=_word(fields, "trust", Trust.STRICT),
        safe_bins=_safe_bins(fields),
    )
    return Entry(request, policy, _texts(fields, "allowlist") or (), _acl(fields))


def _text(fields: Mapping[str, object], key: str) -> str | None:
    found = fields.get(key)
    if found is None or isinstance(found, str):
        return found
    raise BadRequest(f"`{key}` must be a string.")


def _strings(found: object, what: str) -> tuple[str, ...]:
    if isinstance(found, list) and all(isinstance(one, str) for one in found):
        return tuple(found)
    raise BadRequest(f"{what} must be a list of strings.")


def _texts(fields: Mapping[str, object], key: str) -> tuple[str, ...] | None:
    found = fields.get(key)
    return None if found is None else _strings(found, f"`{key}`")


def _env(fields: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    found = fields.get("env")
    if found is None:
        return ()
    if isinstance(found, dict) and all(isinstance(value, str) for value in found.values()):
        return tuple(found.items())
    raise BadRequest("`env` must be an object of strings.")


def _word(fields: Mapping[str, object], key: str, default: Word) -> Word:
    found = fields.get(key)
    if found is None:
        return default
    for word in type(default):
        if word == found:
            return word
    words = ", ".join(type(default))
    raise BadRequest(f"`{key}` must be one of {words}.")


def _safe_bins(fields: Mapping[str, object]) -> tuple[str, ...]:
    found = fields.get("safe_bins", _NOTHING)
    if found is _NOTHING:
        return DEFAULT_SAFE_BINS
    return () if found is None else _strings(found, "`safe_bins`")


def _acl(fields: Mapping[str, object]) -> tuple[ArgvTemplate, ...] | None:
    found = fields.get("acl")
    if found is None:
        return None
    if not isinstance(found, list):
        raise BadRequest("`acl` must be a list of vectors.")
    return tuple(ArgvTemplate.parse(_strings(one, "An `acl` vector")) for one in found)
