"""Describe one route: the verb and address, the method behind it, what it returns."""

import re
from dataclasses import dataclass
from enum import StrEnum

from pydantic import BaseModel

from bot.intake.registry.method import AnyMethod
from bot.intake.registry.params import Params

_PLACEHOLDER = re.compile(r"\{(\w+)\}")


class Style(StrEnum):
    """How a route is served."""

    PLAIN = "plain"
    WAIT = "wait"
    CREATE = "create"
    TOOL = "tool"
    REMOTE = "remote"
    CANCEL = "cancel"
    RESOLVE = "resolve"
    CHANGE = "change"
    EVENTS = "events"
    EVENT_STREAM = "event stream"
    OUTPUT_STREAM = "output stream"


_WAITING = frozenset({Style.WAIT, Style.CREATE, Style.EVENTS})
_STREAMING = frozenset({Style.EVENT_STREAM, Style.OUTPUT_STREAM})


@dataclass(frozen=True, slots=True)
class Route:
    """One verb of one address.

    It returns its method's answer with ``status``, or a stream of ``answer``. ``fixed`` are params
    that the route itself sets or leaves out. ``looks_up``: its body names something that may not
    exist. ``clashes``: what it names may already have ended or changed, or its ``requestKey`` may
    be another request's (409). ``about``: what it does, if the method's summary does not say it.
    """

    verb: str
    path: str
    method: str
    style: Style = Style.PLAIN
    status: int = 200
    fixed: tuple[str, ...] = ()
    looks_up: bool = False
    clashes: bool = False
    answer: type[BaseModel] | None = None
    about: str = ""

    def answer_of(self, method: AnyMethod) -> type[BaseModel]:
        """Return the model of its answer."""
        return self.answer or method.result

    @property
    def has_body(self) -> bool:
        """Return whether the params are in a body."""
        return self.verb in {"POST", "PUT"} and self.style is not Style.CANCEL

    @property
    def waits(self) -> bool:
        """Return whether it takes ``wait``."""
        return self.style in _WAITING

    @property
    def streams(self) -> bool:
        """Return whether it answers with an event stream."""
        return self.style in _STREAMING

    @property
    def path_names(self) -> tuple[str, ...]:
        """Return the params that are in the address."""
        return tuple(_PLACEHOLDER.findall(self.path))

    @property
    def finds(self) -> bool:
        """Return whether its address or its body names something that may not exist (404)."""
        return self.looks_up or bool(self.path_names)

    def query_names(self, model: type[Params]) -> frozenset[str]:
        """Return the params that may be in the query."""
        return frozenset() if self.has_body else self.other_names(model)

    def other_names(self, model: type[Params]) -> frozenset[str]:
        """Return the params that a client gives in addition to those in the address."""
        names = {info.alias or name for name, info in model.model_fields.items()}
        return frozenset(names - {*self.path_names, *self.fixed})
