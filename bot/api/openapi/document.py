"""Generate the OpenAPI document from the same models that read requests and shape answers."""

import json
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from bot.api.http.errors import STATUS, FaultAnswer, FaultCode
from bot.api.http.metrics import CONTENT_TYPE as METRICS_TYPE
from bot.api.openapi.json_schema import ANYTHING, anything, in_path, narrowed, tighten, without_null
from bot.api.rest.call import LARGEST_NUMBER, LONGEST_WAIT_S
from bot.api.rest.pages import HealthState
from bot.api.rest.route import Route, Style
from bot.api.rest.sse import TYPE
from bot.intake.registry.method import AnyMethod, Table
from bot.intake.registry.params import Params
from bot.intake.results.outcomes import RequestAnswer

Json = dict[str, object]
_REF = "#/components/schemas/{model}"
_FAULT = {"$ref": "#/components/schemas/FaultAnswer"}
_JSON_TYPE = "application/json"
_TEXT: Json = {"schema": {"type": "string"}}
_ALWAYS = (
    FaultCode.BAD_REQUEST,
    FaultCode.UNAUTHORISED,
    FaultCode.FORBIDDEN,
    FaultCode.TOO_LARGE,
    FaultCode.TOO_MANY,
    FaultCode.INTERNAL,
    FaultCode.UNAVAILABLE,
)
_WORDS: Mapping[int, str] = {
    400: "The request is malformed.",
    401: "No valid token was sent.",
    403: "The token may not do this, or the Host or Origin is not allowed.",
    404: "Not found, or not visible to this token.",
    409: "It has changed since you read it; nothing was changed.",
    413: "The request is too large.",
    415: "The body is not plain JSON.",
    429: "Too many requests; Retry-After says how long to wait (s).",
    500: "The gateway failed.",
    503: "The gateway cannot serve this now; `goes_on`: it was accepted and has not ended.",
}
_ABOUT = (
    "Ask to run commands, follow them, answer what others asked. A denial is a result, never an "
    "error. Tokens travel in the Authorization header only. The WebSocket at /ws speaks JSON-RPC "
    "2.0 with the methods that the operations name."
)
_NAMES = str.maketrans({"/": "_", "{": "", "}": ""})
_WAIT: Json = {
    "name": "wait",
    "in": "query",
    "description": "seconds to wait for a change; at most http.limits.longestWait",
    "schema": {"type": "number", "minimum": 0, "maximum": LONGEST_WAIT_S, "multipleOf": 0.001},
}
_LAST_EVENT: Json = {
    "name": "Last-Event-ID",
    "in": "header",
    "description": "the last number received; the stream resumes after it",
    "schema": {"type": "integer", "minimum": 0, "maximum": LARGEST_NUMBER},
}


def document(routes: Iterable[Route], table: Table, *, metrics_open: bool) -> bytes:
    """Return the document as JSON."""
    routes = tuple(routes)
    schemas = _schemas(routes, table)
    params = {table[route.method].params.__name__ for route in routes}  # replaced by its content
    paths: dict[str, Json] = dict(pages(metrics_open=metrics_open))
    for route in routes:
        operation = _operation(route, table[route.method], schemas)
        paths.setdefault(route.path, {})[route.verb.lower()] = operation
    whole = {
        "openapi": "3.1.0",
        "info": {"title": "Sayso", "version": version("sayso"), "description": _ABOUT},
        "paths": paths,
        "security": [{"bearer": []}],
        "components": {
            "schemas": {name: one for name, one in schemas.items() if name not in params},
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }
    return json.dumps(whole, ensure_ascii=False).encode()


def _schemas(routes: Iterable[Route], table: Table) -> dict[str, Json]:
    """Return the schema of every model that a route takes or returns, by name."""
    taken = dict.fromkeys(table[route.method].params for route in routes)
    answers: dict[type[BaseModel], None] = {FaultAnswer: None, RequestAnswer: None}
    answers.update((route.answer_of(table[route.method]), None) for route in routes)
    models: list[tuple[type[BaseModel], JsonSchemaMode]] = [
        *((one, "validation") for one in taken),
        *((one, "serialization") for one in answers),
    ]
    _, whole = models_json_schema(models, ref_template=_REF)
    found: dict[str, Json] = {**whole["$defs"], ANYTHING: anything()}
    for model in taken:
        tighten(found[model.__name__])
    return found


def _operation(route: Route, method: AnyMethod, schemas: Mapping[str, Json]) -> Json:
    taken = schemas[method.params.__name__]
    words = " or ".join(f"`{scope}`" for scope in sorted(method.scopes))
    found: Json = {
        "operationId": f"{route.verb.lower()}{route.path.translate(_NAMES)}",
        "summary": route.about or method.summary,
        "description": f"Method `{method.name}`; needs a token with the scope {words}.",
        "parameters": list(_parameters(route, method.params, taken)),
        "responses": _responses(route, route.answer_of(method)),
    }
    if route.has_body:
        names = route.other_names(method.params)
        body = {"schema": narrowed(taken, names)}
        found["requestBody"] = {"required": True, "content": {_JSON_TYPE: body}}
    return found


def _parameters(route: Route, model: type[Params], taken: Json) -> Iterator[Json]:
    shapes = _properties(taken)
    for name in route.path_names:
        yield {"name": name, "in": "path", "required": True, "schema": in_path(shapes[name])}
    required = _required(taken)
    for name in sorted(route.query_names(model)):
        yield {
            "name": name,
            "in": "query",
            "required": name in required,
            "description": shapes[name].get("description", ""),
            "schema": without_null(shapes[name]),
        }
    if route.waits:
        yield _WAIT
    if route.style is Style.EVENT_STREAM:
        yield _LAST_EVENT


def _responses(route: Route, model: type[BaseModel]) -> Json:
    answer: Json = {"schema": {"$ref": _REF.format(model=model.__name__)}}
    content = {TYPE: {"schema": _sent(answer)}} if route.streams else {_JSON_TYPE: answer}
    good: Json = {"description": _sentence(model), "content": content}
    if route.style is Style.CREATE:
        good["headers"] = {"Location": {"schema": {"type": "string"}}}
    codes = [*_ALWAYS]
    codes += [FaultCode.NOT_FOUND] if route.finds else []
    codes += [FaultCode.CONFLICT] if route.clashes else []
    codes += [FaultCode.WRONG_TYPE] if route.has_body else []
    found: Json = {str(route.status): good, **faults(codes)}
    if route.style is Style.TOOL:
        found["202"] = _later()
    return found


def _later() -> Json:
    """Return the answer for what has not ended within http.limits.longestWait."""
    return {
        "description": "Still running; Location gives its state and takes `wait`.",
        "headers": {"Location": {"schema": {"type": "string"}}},
        "content": {_JSON_TYPE: {"schema": {"$ref": _REF.format(model=RequestAnswer.__name__)}}},
    }


def _sent(answer: Json) -> Json:
    """Return the schema of one server-sent event."""
    text: Json = {"type": "string"}
    data: Json = {**text, "contentMediaType": _JSON_TYPE, "contentSchema": answer["schema"]}
    shapes = {"id": text, "event": text, "data": data}
    return {"type": "object", "required": ["event", "data"], "properties": shapes}


def faults(codes: Iterable[FaultCode]) -> Json:
    """Return the answers that report failures, by status."""
    content = {_JSON_TYPE: {"schema": _FAULT}}
    return {
        str(status): {"description": _WORDS[status], "content": content}
        for status in sorted({STATUS[code] for code in codes})
    }


def _sentence(model: type[BaseModel]) -> str:
    return (model.__doc__ or "").strip().partition("\n")[0]


def _properties(schema: Json) -> dict[str, Json]:
    found = schema.get("properties")
    return found if isinstance(found, dict) else {}


def _required(schema: Json) -> list[str]:
    found = schema.get("required")
    return found if isinstance(found, list) else []


def pages(*, metrics_open: bool) -> dict[str, Json]:
    """Return the addresses that belong to no method."""
    health: Json = {
        "type": "object",
        "required": ["ok", "status"],
        "properties": {
            "ok": {"type": "boolean"},
            "status": {"enum": [one.value for one in HealthState]},
        },
    }
    plain = {_JSON_TYPE: {"schema": {"type": "object"}}}
    limited = [FaultCode.BAD_REQUEST, FaultCode.WRONG_SITE, FaultCode.TOO_LARGE]
    limited += [FaultCode.TOO_MANY, FaultCode.UNAUTHORISED, FaultCode.INTERNAL]
    either: list[Json] = [{}, {"bearer": []}]
    about = {
        "200": {"description": "Ready.", "content": {_JSON_TYPE: {"schema": health}}},
        **faults(limited),
        "503": {"description": "Not ready.", "content": {_JSON_TYPE: {"schema": health}}},
    }
    counted = {"200": {"description": "Counters.", "content": {METRICS_TYPE: _TEXT}}}
    return {
        "/health": {"get": _page("Report whether the gateway is ready.", about, either)},
        "/metrics": {
            "get": _page(
                "Show counters for Prometheus.",
                {**counted, **faults([*limited, FaultCode.UNAVAILABLE])},
                either if metrics_open else [{"bearer": []}],
            )
        },
        "/openapi.json": {
            "get": _page(
                "Show this document.",
                {"200": {"description": "It.", "content": plain}, **faults(limited)},
                either,
            )
        },
    }


def _page(summary: str, responses: Json, security: list[Json]) -> Json:
    operation = summary.partition(" ")[0].lower() + summary.rpartition(" ")[2].rstrip(".").title()
    found = {"operationId": operation, "summary": summary}
    return {**found, "responses": responses, "security": security}
