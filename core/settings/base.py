"""Give every configuration section the same strictness and the same words."""

import re
from collections.abc import Callable
from typing import Annotated, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

from core.model.policy import AskFallback, ExecAsk, ExecHost, ExecSecurity, Trust

_LONGEST_SECONDS = 30 * 24 * 3600
_LISTEN = re.compile(r"(?P<host>[A-Za-z0-9.:-]+|\[[0-9A-Fa-f:]+\]):(?P<port>\d{1,5})")
_HIGHEST_PORT = 65_535


class Section(BaseModel):
    """Be the base of every configuration section, including those that channels own.

    A rejected value is never quoted by pydantic: it may be a secret.
    """

    model_config = ConfigDict(
        strict=True,
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        allow_inf_nan=False,
        hide_input_in_errors=True,
    )


S = TypeVar("S", bound=Section)


def _plain(text: str) -> str:
    if not text:
        raise ValueError("must not be empty")
    if not text.isprintable():
        raise ValueError("must not contain control or invisible characters")
    return text


def _absolute(path: str) -> str:
    if not path.startswith("/") or ":" in path:
        raise ValueError("must be an absolute path without a colon")
    return path


def _relative(path: str) -> str:
    if path.startswith("/") or not {"", ".", ".."}.isdisjoint(path.split("/")):
        raise ValueError("must be a relative path without `.`, `..` or empty parts")
    return path


Word = Annotated[str, AfterValidator(_plain)]
"""Text without control characters."""
AbsolutePath = Annotated[str, AfterValidator(_plain), AfterValidator(_absolute)]
"""An absolute path that a search path can hold."""
RelativePath = Annotated[str, AfterValidator(_plain), AfterValidator(_relative)]
"""A path below a folder that is known from elsewhere."""
Seconds = Annotated[float, Field(gt=0, le=_LONGEST_SECONDS)]
"""A duration above zero, of 30 days at most."""
Days = Annotated[int, Field(ge=1, le=36_500)]
"""A number of whole days."""

# Strict mode would refuse a file's lists for tuples and its strings for enums; the items of a
# list stay strict.
Words = Annotated[tuple[Word, ...], Field(strict=False)]
"""A list of words."""
AbsolutePaths = Annotated[tuple[AbsolutePath, ...], Field(strict=False, min_length=1)]
"""A list of absolute paths with at least one."""
HostWord = Annotated[ExecHost, Field(strict=False)]
"""An ``ExecHost``, written as its word."""
SecurityWord = Annotated[ExecSecurity, Field(strict=False)]
"""An ``ExecSecurity``, written as its word."""
AskWord = Annotated[ExecAsk, Field(strict=False)]
"""An ``ExecAsk``, written as its word."""
FallbackWord = Annotated[AskFallback, Field(strict=False)]
"""An ``AskFallback``, written as its word."""
TrustWord = Annotated[Trust, Field(strict=False)]
"""A ``Trust``, written as its word."""


def section(kind: type[S], description: str) -> S:
    """Return the field of a section that has its defaults if the file leaves it out."""
    return Field(default_factory=kind, description=description)


def written_out(value: object) -> object:
    """Return a whole number as its digits: people write ids without quotes."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


PlatformId = Annotated[Word, BeforeValidator(written_out)]
"""An id as a platform names it; a bare number in the file is the same id."""


def milliseconds(seconds: float) -> int:
    """Return whole milliseconds; a file's durations are seconds, the model's are ms."""
    return max(1, round(seconds * 1000))


def listen_address(sample: str) -> Callable[[str], str]:
    """Return a validator that accepts HOST:PORT only; its message shows ``sample``."""

    def checked(listen: str) -> str:
        match = _LISTEN.fullmatch(listen)
        if match is None or int(match["port"]) > _HIGHEST_PORT:
            raise ValueError(f'must be HOST:PORT such as "{sample}"')
        return listen

    return checked


def host_and_port(listen: str) -> tuple[str, int]:
    """Split HOST:PORT; an IPv6 address has brackets there, and none in what is returned."""
    host, _, port = listen.rpartition(":")
    return host.strip("[]"), int(port)
