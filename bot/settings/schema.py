"""List the keys that the models accept, with their descriptions and defaults."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Literal, NewType, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from bot.settings.problems import KeyPath


class Kind(StrEnum):
    """The kind of a key's value, as far as reading it needs to know."""

    SECTION = "section"
    LIST = "list"
    TEXT = "text"
    SECRET = "secret"  # noqa: S105 - a kind of key, not a secret
    DATA = "data"


@dataclass(frozen=True, slots=True)
class Shape:
    """One key: its kind, its own keys or items, and what its model says about it."""

    kind: Kind
    optional: bool = False
    fields: Mapping[str, "Shape"] = field(default_factory=dict)
    item: "Shape | None" = None
    words: tuple[str, ...] = ()
    about: FieldInfo | None = None


def shape_of(annotation: object, about: FieldInfo | None = None) -> Shape:
    """Return the shape of a type as pydantic models write it."""
    inner, optional = _unwrap(annotation)
    if isinstance(inner, type) and issubclass(inner, BaseModel):
        return Shape(Kind.SECTION, optional, fields=_fields(inner), about=about)
    if get_origin(inner) is tuple and get_args(inner)[1:] == (...,):
        return Shape(Kind.LIST, optional, item=shape_of(get_args(inner)[0]), about=about)
    return Shape(_leaf_kind(inner), optional, words=_words(inner), about=about)


def walk(shape: Shape, path: KeyPath = ()) -> Iterator[tuple[KeyPath, Shape]]:
    """Yield each key below a shape, parents first; ``0`` means any item of a list."""
    if path:
        yield path, shape
    for name, child in shape.fields.items():
        yield from walk(child, (*path, name))
    if shape.item is not None and shape.item.kind is Kind.SECTION:
        for name, child in shape.item.fields.items():
            yield from walk(child, (*path, 0, name))


def at(shape: Shape, path: KeyPath) -> Shape | None:
    """Return the shape of the value at a path, or ``None`` if the models have none."""
    found: Shape | None = shape
    for part in path:
        if found is None:
            return None
        found = found.item if isinstance(part, int) else found.fields.get(part)
    return found


@cache
def _fields(model: type[BaseModel]) -> Mapping[str, Shape]:
    """Return a model's keys as files write them; what is excluded is not a setting."""
    return {
        info.alias or name: shape_of(info.annotation, info)
        for name, info in model.model_fields.items()
        if not info.exclude
    }


def _unwrap(annotation: object) -> tuple[object, bool]:
    """Return a type without ``Annotated``, ``NewType`` and ``| None``, and whether it had that."""
    if get_origin(annotation) is Annotated:
        return _unwrap(get_args(annotation)[0])
    if isinstance(annotation, NewType):
        return _unwrap(annotation.__supertype__)
    if get_origin(annotation) in (Union, UnionType):
        rest = [part for part in get_args(annotation) if part is not NoneType]
        if len(rest) == 1 and len(rest) < len(get_args(annotation)):
            return _unwrap(rest[0])[0], True
    return annotation, False


def _leaf_kind(inner: object) -> Kind:
    if inner is SecretStr:
        return Kind.SECRET
    if _words(inner) or (isinstance(inner, type) and issubclass(inner, str)):
        return Kind.TEXT
    return Kind.DATA


def _words(inner: object) -> tuple[str, ...]:
    """Return the words that an enumeration accepts, if it is one of strings."""
    if isinstance(inner, type) and issubclass(inner, Enum):
        values = tuple(member.value for member in inner)
    elif get_origin(inner) is Literal:
        values = get_args(inner)
    else:
        return ()
    return values if all(isinstance(value, str) for value in values) else ()
