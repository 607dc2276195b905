from enum import Enum
from typing import Annotated, Literal, NewType

from pydantic import Field, SecretStr

from bot.settings.model import SHAPE
from bot.settings.schema import Kind, at, shape_of, walk
from core.settings.base import Section

Name = NewType("Name", str)


class Word(Enum):
    """Two words."""

    A = "a"
    B = "b"


class Inner(Section):
    """A section within."""

    secret: SecretStr
    mode: Literal["x", "y"] = "x"


class Outer(Section):
    """One key of each kind."""

    inner: Inner | None = None
    items: Annotated[tuple[Inner, ...], Field(strict=False)] = ()
    names: tuple[Annotated[Name, Field(min_length=1)], ...] = ()
    a_word: Word = Word.A
    count: int | None = None
    hidden: int = Field(default=1, exclude=True)


def test_every_kind_of_key_is_known() -> None:
    """Optional, annotated, new and nested types are seen through."""
    fields = shape_of(Outer).fields

    assert {name: (shape.kind, shape.optional) for name, shape in fields.items()} == {
        "inner": (Kind.SECTION, True),
        "items": (Kind.LIST, False),
        "names": (Kind.LIST, False),
        "aWord": (Kind.TEXT, False),
        "count": (Kind.DATA, True),
    }
    assert fields["aWord"].words == ("a", "b")
    assert fields["inner"].fields["mode"].words == ("x", "y")
    assert fields["inner"].fields["secret"].kind is Kind.SECRET


def test_every_key_is_walked_once() -> None:
    """Parents come first; any item of a list of sections is item 0."""
    assert [path for path, _ in walk(shape_of(Outer))] == [
        ("inner",),
        ("inner", "secret"),
        ("inner", "mode"),
        ("items",),
        ("items", 0, "secret"),
        ("items", 0, "mode"),
        ("names",),
        ("aWord",),
        ("count",),
    ]


def test_a_path_leads_to_its_shape() -> None:
    """Indexes lead into lists; what the models do not have is None."""
    shape = shape_of(Outer)

    found = at(shape, ("items", 3, "mode"))
    assert found is not None
    assert found.words == ("x", "y")
    assert at(shape, ("items", "mode")) is None
    assert at(shape, ("none", 0, "x")) is None


def test_the_home_is_no_key() -> None:
    """$SAYSO_HOME says where the file is, so the file cannot say it."""
    assert "home" not in SHAPE.fields
