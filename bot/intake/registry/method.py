"""Register methods by name, and call each in one way: scope, agent, params, handler.

The Unix socket, HTTP and WebSocket all call ``invoke``; nothing else runs a handler.
"""

from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, replace
from inspect import isfunction
from typing import Any, Generic, Protocol, TypeAlias, TypedDict, TypeVar, Unpack, get_type_hints

from pydantic import BaseModel

from bot.intake.callers.caller import Caller
from bot.intake.registry.params import AgentParams, Params, SessionParams, read
from core.errors import Forbidden
from core.ipc.unattended import to_its_end
from core.model.access import PEOPLES_SCOPES, Scope
from core.model.identity import DEFAULT_AGENT

P = TypeVar("P", bound=Params)


class Result(Protocol):
    """What a method returns."""

    def as_json(self) -> dict[str, object]:
        """Return the JSON that is sent."""


R_co = TypeVar("R_co", bound=Result, covariant=True)


@dataclass(frozen=True, slots=True)
class Method(Generic[P, R_co]):
    """One method: any one of ``scopes`` suffices. ``result`` is the model of its answers.

    ``local`` methods are not offered over the network at all, those ``of_all`` agents only to
    callers that see them all. ``filters``: if no agent is named, the handler itself leaves out what
    the caller does not see. ``ends_with_caller``: it waits, and what it does ends if the caller
    leaves. ``urgent``: the owner can call it even when programs use all places of the socket: it
    sees, answers or stops something, and never waits.
    """

    name: str
    params: type[P]
    scopes: frozenset[Scope]
    handler: Callable[[P, Caller], Coroutine[Any, Any, R_co]]
    result: type[BaseModel]
    summary: str
    note: str = ""
    local: bool = False
    of_all: bool = False
    filters: bool = False
    ends_with_caller: bool = False
    urgent: bool = False

    @property
    def is_finished(self) -> bool:
        """Return whether it changes something and records it, which is done to its end."""
        return self.scopes <= PEOPLES_SCOPES and not self.ends_with_caller


AnyMethod: TypeAlias = Method[Any, Any]
"""A method with any params."""
Table = Mapping[str, AnyMethod]


class More(TypedDict, total=False):
    """What else ``handles`` may say of a method."""

    note: str
    local: bool
    of_all: bool
    filters: bool
    ends_with_caller: bool
    urgent: bool


H = TypeVar("H", bound=Callable[[Any, Any, Caller], Coroutine[Any, Any, Result]])
_handled: dict[object, list[AnyMethod]] = {}
"""The methods that each handler of a ``Group`` handles, with the handler as it is in the class."""


def handles(
    name: str,
    scopes: frozenset[Scope],
    summary: str,
    *,
    params: type[Params] | None = None,
    result: type[BaseModel] | None = None,
    **more: Unpack[More],
) -> Callable[[H], H]:
    """Declare a method of a ``Group`` above its handler, whose signature has the types.

    ``params`` and ``result`` are given where the method has others than its handler.
    """

    def declare(handler: H) -> H:
        taken, _caller, answer = get_type_hints(handler).values()
        unbound: Any = handler
        method = Method(name, params or taken, scopes, unbound, result or answer, summary, **more)
        _handled.setdefault(handler, []).append(method)
        return handler

    return declare


class Group:
    """A group of methods: its handlers, each declared by ``handles``."""

    __slots__ = ()

    def methods(self) -> Iterable[AnyMethod]:
        """Return the methods, bound to this group."""
        for name, member in vars(type(self)).items():
            if isfunction(member):
                for method in _handled.get(member, ()):
                    yield replace(method, handler=getattr(self, name))


def table_of(groups: Iterable[Group]) -> Table:
    """Return the methods of all groups by name.

    Raises:
        ValueError: two of them have the same name.
    """
    table: dict[str, AnyMethod] = {}
    for group in groups:
        for method in group.methods():
            if method.name in table:
                raise ValueError(f"two methods are named {method.name}")
            table[method.name] = method
    return table


async def invoke(method: AnyMethod, raw: Mapping[str, object], caller: Caller) -> object:
    """Call a method: check scope and agent and read the params before its handler runs.

    What only people may call is done to its end, even if the caller leaves in the middle.

    Raises:
        Forbidden: the caller has none of its scopes, or names an agent that is not its own.
        BadRequest: the params are not valid.
        SaysoError: what the handler raises.
    """
    permit(method, caller)
    params = bound(read(method.params, raw), caller)
    if caller.visible is not None and not method.filters and _names_none(params):
        raise Forbidden(f"{method.name} covers all agents here. Name one that you approve for.")
    work = method.handler(params, caller)
    answer: Result = await (to_its_end(work) if method.is_finished else work)
    return answer.as_json()


def permit(method: AnyMethod, caller: Caller) -> None:
    """Refuse a caller that may not call a method.

    Raises:
        Forbidden: naming what is missing.
    """
    if method.local and caller.peer is None:
        raise Forbidden(f"{method.name} is available on gateway.sock only, not over the network.")
    if method.of_all and not caller.sees_all:
        whose = "an agent's token" if caller.visible is None else "a session of a chat's /login"
        raise Forbidden(f"{method.name} covers all agents; {whose} may not call it.")
    if not any(caller.may(scope) for scope in method.scopes):
        words = " or ".join(sorted(method.scopes))
        raise Forbidden(f"{method.name} needs a token with the scope {words}.")


def bound(params: P, caller: Caller) -> P:
    """Return params that name the caller's own agent and one of its sessions.

    Raises:
        Forbidden: they name an agent that the caller may not name.
    """
    if caller.sees_all or not isinstance(params, AgentParams):
        return params
    agent = caller.agent(params.agent)
    changes: dict[str, object] = {"agent": agent}
    if isinstance(params, SessionParams):
        changes["session"] = caller.session(agent or DEFAULT_AGENT, params.session)
    return params.model_copy(update=changes)


def _names_none(params: Params) -> bool:
    return isinstance(params, AgentParams) and params.agent is None
