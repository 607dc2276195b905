"""Write ``docs/reference/methods.md`` from the method table itself: none goes undocumented."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import cast

from bot.factories.remote_exec import RemoteExec
from bot.intake.methods.remote import RemoteMethods
from bot.intake.registry.method import AnyMethod, Table
from bot.intake.table import method_table
from core.gate import Gate
from core.model.access import Scope

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "methods.md"

_HEAD = """\
# Methods

Generated from the method table by `make docs`; a test compares.

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


async def _no_health() -> dict[str, object]:
    return {}


def table() -> Table:
    """Return the methods; nothing behind them is there, and none is called."""
    gate = cast("Gate", SimpleNamespace(store=None))
    remote = RemoteMethods(cast("RemoteExec", None), gate)
    return method_table(gate, _no_health, (remote,))


def page() -> str:
    """Return the text of the page."""
    methods = sorted(table().values(), key=lambda method: method.name)
    rows = "".join(_row(method) for method in methods)
    return _HEAD + rows + "".join(_section(method) for method in methods)


def scopes(method: AnyMethod) -> str:
    """Return which scopes let a caller in, as the page says it."""
    if method.local:
        return "local"
    order = (*Scope,)
    words = " or ".join(f"`{one}`" for one in sorted(method.scopes, key=order.index))
    return f"{words}, no agent's token" if method.of_all else words


def _row(method: AnyMethod) -> str:
    return f"| `{method.name}` | {scopes(method)} | {method.summary} |\n"


def _section(method: AnyMethod) -> str:
    params = "".join(_params(method))
    table_ = f"| Param | Holds | Default | Meaning |\n| --- | --- | --- | --- |\n{params}\n"
    given = table_ if params else "No params.\n\n"
    head = f"\n## `{method.name}`\n\n{method.summary} Scope: {scopes(method)}.\n\n"
    return f"{head}{given}Answer: {method.answer}.\n"


def _params(method: AnyMethod) -> Iterator[str]:
    schema = method.params.model_json_schema(by_alias=True)
    required = schema.get("required", [])
    for name, field in schema.get("properties", {}).items():
        default = "*required*" if name in required else f"`{json.dumps(field.get('default'))}`"
        meaning = field.get("description", "")
        yield f"| `{name}` | {_kind(field, schema)} | {default} | {meaning} |\n"


def _kind(field: Mapping[str, object], schema: Mapping[str, object]) -> str:
    """Return in words what a param holds."""
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
