"""Answer every failure in one shape: ``{"error": {"code", "message", "hint"}}``."""

from dataclasses import dataclass
from enum import StrEnum

from starlette.responses import JSONResponse, Response

from bot.intake.results.answer import Answer
from core.errors import (
    BadRequest,
    Conflict,
    Forbidden,
    NotFound,
    SaysoError,
    Stopping,
    Unauthenticated,
)


class FaultCode(StrEnum):
    """Reasons why a request was not served; a closed list (documented in docs/reference/api.md)."""

    BAD_REQUEST = "bad_request"
    UNAUTHORISED = "unauthorised"
    FORBIDDEN = "forbidden"
    WRONG_SITE = "wrong_site"
    NOT_FOUND = "not_found"
    WRONG_VERB = "wrong_verb"
    CONFLICT = "conflict"
    TOO_LARGE = "too_large"
    WRONG_TYPE = "wrong_type"
    TOO_MANY = "too_many"
    INTERNAL = "internal"
    UNAVAILABLE = "unavailable"
    GOES_ON = "goes_on"
    STOPPING = "stopping"


STATUS: dict[FaultCode, int] = {
    FaultCode.BAD_REQUEST: 400,
    FaultCode.UNAUTHORISED: 401,
    FaultCode.FORBIDDEN: 403,
    FaultCode.WRONG_SITE: 403,
    FaultCode.NOT_FOUND: 404,
    FaultCode.WRONG_VERB: 405,
    FaultCode.CONFLICT: 409,
    FaultCode.TOO_LARGE: 413,
    FaultCode.WRONG_TYPE: 415,
    FaultCode.TOO_MANY: 429,
    FaultCode.INTERNAL: 500,
    FaultCode.UNAVAILABLE: 503,
    FaultCode.GOES_ON: 503,
    FaultCode.STOPPING: 503,
}

_HINTS: dict[FaultCode, str] = {
    FaultCode.BAD_REQUEST: "Correct the request; see /openapi.json for each route's parameters.",
    FaultCode.UNAUTHORISED: (
        "Send `Authorization: Bearer TOKEN`; create one with `sayso token create`."
    ),
    FaultCode.FORBIDDEN: "See the message; `sayso token list` shows the owner of each token.",
    FaultCode.WRONG_SITE: "Name the host in http.hosts, or the page's origin in http.origins.",
    FaultCode.NOT_FOUND: "See GET /v1/history for requests and /openapi.json for routes.",
    FaultCode.WRONG_VERB: "Use one of the methods in the Allow header.",
    FaultCode.CONFLICT: "Nothing was changed; check its current state.",
    FaultCode.TOO_LARGE: "Stay below the limit in the message.",
    FaultCode.WRONG_TYPE: "Send JSON with `Content-Type: application/json`, not compressed.",
    FaultCode.TOO_MANY: "Wait as long as Retry-After says; the limits are in http.limits.",
    FaultCode.INTERNAL: "See the gateway's log. Nothing ran that was not reported.",
    FaultCode.UNAVAILABLE: "Try again; if it persists, run `sayso doctor`.",
    FaultCode.GOES_ON: "It was accepted and continues: do not send it again. See GET /v1/history.",
    FaultCode.STOPPING: "Reconnect after Retry-After; earlier requests are kept.",
}


class FaultDetail(Answer):
    """Why a request was not served."""

    code: FaultCode
    message: str
    hint: str


class FaultAnswer(Answer):
    """The one shape of every error."""

    error: FaultDetail


@dataclass(slots=True, eq=False)
class Fault(Exception):
    """A request that is not served: the code, one sentence, and headers that go with it."""

    code: FaultCode
    message: str
    headers: dict[str, str] | None = None

    @property
    def status(self) -> int:
        """Return the HTTP status."""
        return STATUS[self.code]

    def body(self) -> dict[str, object]:
        """Return the error as it is sent."""
        error = FaultDetail(code=self.code, message=self.message, hint=_HINTS[self.code])
        return FaultAnswer(error=error).as_json()

    def response(self) -> Response:
        """Return the answer."""
        return JSONResponse(self.body(), self.status, self.headers)


def too_many(seconds: float) -> Fault:
    """Return the answer to too many requests; the next is accepted in ``seconds``."""
    wait = {"Retry-After": str(max(1, round(seconds + 0.5)))}
    return Fault(FaultCode.TOO_MANY, "Too many requests.", wait)


_OURS: tuple[tuple[type[SaysoError], FaultCode], ...] = (
    (NotFound, FaultCode.NOT_FOUND),
    (Conflict, FaultCode.CONFLICT),
    (BadRequest, FaultCode.BAD_REQUEST),
    (Forbidden, FaultCode.FORBIDDEN),
    (Unauthenticated, FaultCode.UNAUTHORISED),
)


def of_error(error: SaysoError) -> Fault:
    """Return the fault for a failure of Sayso; unless the client caused it, a retry may succeed."""
    for kind, code in _OURS:
        if isinstance(error, kind):
            return Fault(code, str(error))
    if isinstance(error, Stopping):
        return Fault(FaultCode.STOPPING, str(error), {"Retry-After": "2"})
    return Fault(FaultCode.UNAVAILABLE, str(error), {"Retry-After": "5"})
