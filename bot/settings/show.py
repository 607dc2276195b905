"""List every setting in effect with its source, secrets masked."""

from collections.abc import Iterator
from dataclasses import dataclass

from bot.settings.model import SHAPE, Settings
from bot.settings.problems import KeyPath, dotted
from bot.settings.reader import Reading
from bot.settings.schema import Kind, Shape


@dataclass(frozen=True, slots=True)
class ShownSetting:
    """One setting as people see it: dotted key, plain value, and where it was set."""

    key: str
    value: object
    source: str


def shown(reading: Reading) -> Iterator[ShownSetting]:
    """Yield each setting in the models' order; pydantic masks the secrets."""
    tree = reading.settings.model_dump(mode="json", by_alias=True)
    for path, value in _leaves(tree, SHAPE, ()):
        yield ShownSetting(dotted(path), _tidy(value), reading.origins.of(path))


def leaves(settings: Settings) -> Iterator[tuple[KeyPath, object]]:
    """Yield each setting's path and value; secrets are not masked but are ``SecretStr``."""
    yield from _leaves(settings.model_dump(by_alias=True), SHAPE, ())


def _leaves(value: object, shape: Shape, path: KeyPath) -> Iterator[tuple[KeyPath, object]]:
    item = shape.item
    if shape.kind is Kind.SECTION and isinstance(value, dict):
        for key, child in shape.fields.items():
            yield from _leaves(value[key], child, (*path, key))
    elif (
        item is not None and item.kind is Kind.SECTION and isinstance(value, list | tuple) and value
    ):
        for index, each in enumerate(value):
            given = (leaf for leaf in _leaves(each, item, (*path, index)) if leaf[1] is not None)
            yield from given
    else:
        yield path, value


def _tidy(value: object) -> object:
    """Write 1800.0 as the file would: 1800."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
