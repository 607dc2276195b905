"""Write ``docs/reference/methods.md`` from the methods and routes: none goes undocumented."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import cast

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from bot.api.rest.route import Route
from bot.api.rest.routes import ROUTES
from bot.factories.remote_exec import RemoteExec
from bot.intake.methods.audit import AuditMethods, Rotate
from bot.intake.methods.policy import BacktestMethods
from bot.intake.methods.remote import RemoteMethods
from bot.intake.registry.method import AnyMethod, Table
from bot.intake.table import method_table
from bot.policy_tools.draft_backtest import DraftBacktests
from core.gate.gate import Gate
from core.gate.guards.lockdown import Lockdown
from core.model.access import Scope
from core.ports import Journal

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "methods.md"

_HEAD = """\
# Methods

Generated from the methods and routes by `make docs`; a test compares.

The same methods are called on [`gateway.sock`](api.md), over HTTP and over WebSocket. On the
socket a process of the gateway's user may call each of them. Over the network a
[token](../how-to/tokens.md) must have one of the scopes in the second column; an agent's token sees
and names its own agent only, whatever its scopes, and calls nothing marked *no agent's token*.
*Local* methods are not offered there.

`id` is an approval's id, which is also its run's. Where the table says so, the short code or a
prefix that only one has will do. `security` and `ask` of a call can only make things stricter.
Unknown params are refused.

| Method | Scope | What it does |
| --- | --- | --- |
"""


_ROUTES = """
## Routes

[Over HTTP](http.md).

| Route | Method | What it does |
| --- | --- | --- |
"""
_ANSWERS = """\
## Answers

A key that may be absent is left out where it says nothing.
"""
_MOST_WORDS = 8
"""Words of an enumeration that are listed; docs/reference/denials.md has the reasons."""


async def _no_health() -> dict[str, object]:
    return {}


def table() -> Table:
    """Return the methods; nothing behind them exists, and none is called."""
    journal, lockdown = cast("Journal", None), cast("Lockdown", None)
    execution = SimpleNamespace(guard=SimpleNamespace(lockdown=lockdown))
    parts = {"store": None, "rulebook": None, "journal": journal, "execution": execution}
    gate = SimpleNamespace(**parts, broker=SimpleNamespace(seals=None))
    remote = RemoteMethods(cast("RemoteExec", None), journal, lockdown)
    audit = AuditMethods(cast("Rotate", None), Path("audit.jsonl"))
    backtests = BacktestMethods(cast("DraftBacktests", None))
    return method_table(cast("Gate", gate), _no_health, (remote, audit, backtests))


def page() -> str:
    """Return the text of the page."""
    known = table()
    methods = sorted(known.values(), key=lambda method: method.name)
    rows = "".join(_row(method) for method in methods)
    routes = "".join(_route(route, known[route.method]) for route in ROUTES)
    sections = "".join(_section(method) for method in methods)
    answers = "".join(_answers(method.result for method in methods))
    return f"{_HEAD}{rows}{_ROUTES}{routes}{sections}\n{_ANSWERS}{answers}"


def scopes(method: AnyMethod) -> str:
    """Return which scopes let a caller in, in the page's words."""
    if method.local:
        return "local"
    order = (*Scope,)
    words = " or ".join(f"`{one}`" for one in sorted(method.scopes, key=order.index))
    return f"{words}, no agent's token" if method.of_all else words


def _row(method: AnyMethod) -> str:
    return f"| `{method.name}` | {scopes(method)} | {method.summary} |\n"


def _route(route: Route, method: AnyMethod) -> str:
    about = route.about or method.summary
    return f"| `{route.verb} {route.path}` | `{route.method}` | {about} |\n"


def _section(method: AnyMethod) -> str:
    params = "".join(_params(method))
    table_ = f"| Param | Holds | Default | Meaning |\n| --- | --- | --- | --- |\n{params}\n"
    given = table_ if params else "No params.\n\n"
    head = f"\n## `{method.name}`\n\n{method.summary} Scope: {scopes(method)}.\n\n"
    note = f" ({method.note})" if method.note else ""
    return f"{head}{given}Answer{note}: {_answer(method.result)}"


def _answer(model: type[BaseModel]) -> str:
    return f"[{_sentence(model.__doc__)}](#{model.__name__.lower()}).\n"


def _sentence(doc: object) -> str:
    return str(doc or "").partition("\n")[0].replace("``", "`").removesuffix(".")


def _answers(models: Iterable[type[BaseModel]]) -> Iterator[str]:
    """Yield a section for each model and for each that it contains."""
    inputs = [(model, "serialization") for model in dict.fromkeys(models)]
    _, schema = models_json_schema(cast("list[tuple[type[BaseModel], JsonSchemaMode]]", inputs))
    known = cast("dict[str, dict[str, object]]", schema["$defs"])
    for name, model in sorted(known.items()):
        if "enum" not in model:
            yield f"\n### `{name}`\n\n{_sentence(model.get('description'))}.\n"
            yield _keys(model, schema) if "properties" in model else _one_of(model)


def _one_of(model: Mapping[str, object]) -> str:
    choices = model.get("anyOf") or model.get("oneOf")
    refs = [str(one["$ref"]) for one in cast("list[dict[str, object]]", choices)]
    return "\nOne of " + ", ".join(map(_link, refs)) + ".\n"


def _link(ref: str) -> str:
    name = ref.rpartition("/")[2]
    return f"[{name}](#{name.lower()})"


def _keys(model: Mapping[str, object], schema: Mapping[str, object]) -> str:
    fields = cast("dict[str, dict[str, object]]", model["properties"])
    required = cast("list[str]", model.get("required", []))
    rows = "".join(
        f"| `{name}` | {_held(field, schema)}{'' if name in required else '; may be absent'} |\n"
        for name, field in fields.items()
    )
    return f"\n| Key | Holds |\n| --- | --- |\n{rows}"


def _held(field: Mapping[str, object], schema: Mapping[str, object]) -> str:
    """Return in words what a key of an answer contains, with its unit."""
    found = [_linked(choice, schema) for choice in _choices(field)]
    words = " or ".join(dict.fromkeys(found))
    return f"{words}, {field['description']}" if "description" in field else words


def _linked(choice: Mapping[str, object], schema: Mapping[str, object]) -> str:
    items = choice.get("items")
    if isinstance(items, dict):
        return f"list of {' or '.join(_linked(one, schema) for one in _choices(items))}"
    known = _known(choice, schema)
    if "$ref" in choice and "enum" not in known:
        return _link(str(choice["$ref"]))
    if len(cast("list[object]", known.get("enum", ()))) > _MOST_WORDS:
        return "text"
    return _one(choice, schema)


def _params(method: AnyMethod) -> Iterator[str]:
    schema = method.params.model_json_schema(by_alias=True)
    required = schema.get("required", [])
    for name, field in schema.get("properties", {}).items():
        default = "*required*" if name in required else f"`{json.dumps(field.get('default'))}`"
        meaning = field.get("description", "")
        yield f"| `{name}` | {_kind(field, schema)} | {default} | {meaning} |\n"


def _kind(field: Mapping[str, object], schema: Mapping[str, object]) -> str:
    """Return in words what a param contains."""
    found = [_one(choice, schema) for choice in _choices(field)]
    return " or ".join(word for word in dict.fromkeys(found) if word != "null")


def _choices(field: Mapping[str, object]) -> list[Mapping[str, object]]:
    anyof = field.get("anyOf")
    return list(anyof) if isinstance(anyof, list) else [field]


def _one(choice: Mapping[str, object], schema: Mapping[str, object]) -> str:
    known = _known(choice, schema)
    words = known.get("enum") or ([known["const"]] if "const" in known else None)
    if isinstance(words, list):
        return " \\| ".join(f"`{json.dumps(word).strip(chr(34))}`" for word in words)
    items = known.get("items")
    if isinstance(items, dict):
        return f"list of {_one(items, schema)}"
    names = {"string": "text", "integer": "number", "boolean": "true or false"}
    kind = str(known.get("type", "anything"))
    return names.get(kind, kind)


def _known(choice: Mapping[str, object], schema: Mapping[str, object]) -> Mapping[str, object]:
    ref = str(choice.get("$ref", ""))
    kinds = schema.get("$defs", {})
    assert isinstance(kinds, dict)
    found = kinds.get(ref.rpartition("/")[2], choice)
    assert isinstance(found, dict)
    return found
