"""Turn one HTTP request into one call of the method table."""

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import UnionType
from typing import Annotated, Union, get_args, get_origin
from urllib.parse import parse_qsl

from pydantic.fields import FieldInfo
from starlette.responses import Response
from starlette.types import Receive, Scope

from bot.api.access.authentication import Login
from bot.api.http.bodies import read_body, read_json
from bot.api.http.errors import Fault, FaultCode
from bot.api.rest.route import Route, Style
from bot.intake.callers.caller import Caller
from bot.intake.registry.method import AnyMethod, invoke, permit
from bot.intake.registry.params import Params
from core.settings.http import HttpSection

_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]{0,15})")
_SECONDS = re.compile(r"(?:0|[1-9][0-9]{0,3})(?:\.[0-9]{1,3})?")
_MOST_PARAMETERS = 32
LARGEST_NUMBER = 10**15
"""The highest number of an event that a client may have seen."""
LONGEST_WAIT_S = 3600
"""Seconds that a client may ask to wait; it gets http.limits.longestWait at most."""


@dataclass(slots=True)
class Call:
    """One parsed request: the method, its raw params, the caller, and how long it waits.

    ``status`` is 0 if the route's own is used.
    """

    route: Route
    method: AnyMethod
    caller: Caller
    login: Login
    params: dict[str, object]
    wait_s: float = 0.0
    after: int | None = None
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)

    async def invoke(self, **more: object) -> object:
        """Call the method.

        Raises:
            SaysoError: what the method raises.
        """
        return await invoke(self.method, {**self.params, **more}, self.caller)

    def response(self, result: object) -> Response:
        """Return the response with its status."""
        text = json.dumps(result, separators=(",", ":"), allow_nan=False)
        status = self.status or self.route.status
        return Response(text, status, self.headers, "application/json")


async def parse_call(
    route: Route, method: AnyMethod, scope: Scope, receive: Receive, section: HttpSection
) -> Call:
    """Parse a request; a caller without access to the method is refused before its body is read.

    Raises:
        Fault: it cannot be parsed.
        Forbidden: the caller may not call the method.
    """
    state = scope["state"]
    caller = state["caller"]
    permit(method, caller)
    query = _query(scope)
    wait_s = _patience(route, query, section)
    after = _last_event(scope) if route.streams else None
    params: dict[str, object] = dict(scope["path_params"])
    params.update(_typed(query, method.params, route))
    if route.has_body:
        limits = section.limits
        began = time.monotonic()
        body = await read_body(scope, receive, limits.body_bytes, limits.patience)
        caller = await state["login"].after(caller, began)
        permit(method, caller)
        found = read_json(scope, body)
        _only(found, route)
        params.update(found)
    return Call(route, method, caller, state["login"], params, wait_s, after)


def _query(scope: Scope) -> dict[str, str]:
    try:
        pairs = parse_qsl(
            scope["query_string"].decode("ascii"),
            keep_blank_values=True,
            strict_parsing=bool(scope["query_string"]),
            errors="strict",
            max_num_fields=_MOST_PARAMETERS,
        )
    except ValueError:  # UnicodeDecodeError is a ValueError
        raise Fault(FaultCode.BAD_REQUEST, "The query string is malformed.") from None
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Fault(FaultCode.BAD_REQUEST, "A query parameter is given twice.")
    return found


def _patience(route: Route, query: dict[str, str], section: HttpSection) -> float:
    limits = section.limits
    if route.style is Style.TOOL:
        return limits.longest_wait
    if route.style is Style.REMOTE:
        # Its answer is only available here, and no people are asked: its host ends it in time.
        return limits.longest_stream
    return _wait(query.pop("wait", None), section) if route.waits else 0.0


def _wait(text: str | None, section: HttpSection) -> float:
    if text is None:
        return 0.0
    if not _SECONDS.fullmatch(text) or float(text) > LONGEST_WAIT_S:
        words = f"wait: seconds from 0 to {LONGEST_WAIT_S}, at most three decimals."
        raise Fault(FaultCode.BAD_REQUEST, words)
    return min(float(text), section.limits.longest_wait)


def _typed(query: Mapping[str, str], model: type[Params], route: Route) -> dict[str, object]:
    """Return the query's values in the types of the params; unknown names are refused."""
    fields = {info.alias or name: info for name, info in model.model_fields.items()}
    known = route.query_names(model)
    for name in query:
        if name not in known:
            # The name is not repeated: a token in the address must not come back or be logged.
            raise Fault(FaultCode.BAD_REQUEST, "Unknown query parameter.")
    return {name: _value(text, fields[name], name) for name, text in query.items()}


def _value(text: str, info: FieldInfo, name: str) -> object:
    kinds = set(_kinds(info.annotation))
    if int not in kinds:
        return text
    if not _WHOLE.fullmatch(text):
        raise Fault(FaultCode.BAD_REQUEST, f"{name}: must be a whole number.")
    return int(text)


def _kinds(annotation: object) -> tuple[object, ...]:
    if get_origin(annotation) is Annotated:
        return _kinds(get_args(annotation)[0])
    if get_origin(annotation) in {Union, UnionType}:
        return tuple(kind for part in get_args(annotation) for kind in _kinds(part))
    return (annotation,)


def _only(found: Mapping[str, object], route: Route) -> None:
    """Refuse a body that sets what the address or the route sets."""
    for name in (*route.path_names, *route.fixed):
        if name in found:
            raise Fault(FaultCode.BAD_REQUEST, f"{name}: must not be in the body.")


def _last_event(scope: Scope) -> int | None:
    """Return the last event that a resuming client saw (HTML Standard, Last-Event-ID)."""
    for name, value in scope["headers"]:
        if name == b"last-event-id":
            text = value.decode("latin-1")
            if not _WHOLE.fullmatch(text) or not 0 <= int(text) <= LARGEST_NUMBER:
                raise Fault(FaultCode.BAD_REQUEST, "Last-Event-ID: must be a whole number.")
            return int(text)
    return None
