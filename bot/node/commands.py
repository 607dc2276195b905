"""Do what a gateway invokes on a node other than running commands (S1 "must advertise")."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel

from bot.node.judge import Judge
from core.approvals.file.base_hash import base_hash, replace_recorded
from core.errors import ApprovalsFileError, BadRequest, Conflict, JournalError, StateError
from core.model.command import PinnedFile
from core.nodes.frames import Fault, Invoke, Invoked, NotInvoked
from core.ports import Journal
from core.text.render import redact
from core.validation.model_errors import faults, place

RUNS = ("system.run", "system.run.prepare")
"""What a node accepts by the frames ``run`` and ``prepare``; nothing else runs a command."""
_MOST_NAMES = 256
_WHY = 2_000
Result = dict[str, JsonValue]
_JSON: TypeAdapter[Result] = TypeAdapter(Result)


class _Params(BaseModel):
    model_config = ConfigDict(
        strict=True,
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        hide_input_in_errors=True,
    )


class WhichParams(_Params):
    """``system.which``: names to look up on the node's search path."""

    bins: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=255)]], Field(max_length=_MOST_NAMES)
    ]


class NoParams(_Params):
    """A command without params."""


class FileParams(_Params):
    """``system.execApprovals.set``: the complete new content, and the hash of what was read."""

    file: dict[str, JsonValue]
    base_hash: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


P = TypeVar("P", bound=_Params)


@dataclass(frozen=True, slots=True)
class NodeCommands:
    """The commands of one node. ``gateway`` is the id of the only one that can call them.

    ``remote_approvals``: its approvals file may be shown and replaced.
    """

    gateway: str
    judge: Judge
    journal: Journal
    remote_approvals: bool

    @property
    def names(self) -> tuple[str, ...]:
        """Return what the node advertises."""
        return (*RUNS, *self._handlers())

    async def answer(self, frame: Invoke) -> Invoked | NotInvoked:
        """Do what a frame says, or return why nothing was done."""
        try:
            result = await self._handlers().get(frame.command, _unknown)(frame.params)
            return Invoked(id=frame.id, result=result)
        except Conflict as changed:
            return _not(frame, Fault.CONFLICT, changed)
        except (BadRequest, ApprovalsFileError) as refusal:
            return _not(frame, Fault.BAD_REQUEST, refusal)
        except (StateError, JournalError, OSError) as failure:
            return _not(frame, Fault.FAILED, failure)

    def _handlers(self) -> Mapping[str, Callable[[Result], Awaitable[Result]]]:
        found: dict[str, Callable[[Result], Awaitable[Result]]] = {"system.which": self.which}
        if self.remote_approvals:
            found["system.execApprovals.get"] = self.get_approvals
            found["system.execApprovals.set"] = self.set_approvals
        return found

    async def which(self, raw: Result) -> Result:
        """Return the path of each program that exists; others are left out."""
        params = _read(WhichParams, raw)
        return {"bins": await asyncio.to_thread(self._found, params.bins)}

    def _found(self, names: list[str]) -> Result:
        search, paths = self.judge.planner.search, {}
        for name in dict.fromkeys(names):
            found = None if "/" in name or "\0" in name else search.find(name, "/")
            if isinstance(found, PinnedFile):
                paths[name] = found.path
        return _JSON.validate_python(paths)

    async def get_approvals(self, raw: Result) -> Result:
        """Return exec-approvals.json without its socket, and the hash to replace it by."""
        _read(NoParams, raw)
        shown = await asyncio.to_thread(self.judge.rulebook.usage.shown)
        warnings = await asyncio.to_thread(self.judge.rulebook.file.lint)
        file = {key: value for key, value in shown.items() if key != "socket"}
        found = {"file": file, "hash": base_hash(shown), "warnings": list(warnings)}
        return _JSON.validate_python(found)

    async def set_approvals(self, raw: Result) -> Result:
        """Replace exec-approvals.json if it has not changed since it was read; the socket is kept.

        Raises:
            Conflict: it has changed.
            BadRequest: the content names a socket, or is malformed.
            ApprovalsFileError: the new content is not valid; nothing was changed.
        """
        params = _read(FileParams, raw)
        if "socket" in params.file:
            raise BadRequest("`socket` is the node's own: leave it out. Nothing was changed.")
        text = json.dumps(params.file, ensure_ascii=False)
        file, base, by = self.judge.rulebook.file, params.base_hash, f"gateway:{self.gateway}"
        done = await replace_recorded(file, self.journal, text, base, by)
        return {"warnings": list(done.warnings)}


async def _unknown(_params: Result) -> Result:
    raise BadRequest("This node does not take this command.")


def _read(kind: type[P], raw: Result) -> P:
    try:
        return kind.model_validate(raw)
    except ValidationError as wrong:
        words = "; ".join(f"{place(at)}: {said}" for at, said in faults(wrong))
        raise BadRequest(f"The params are not understood: {words}.") from None


def _not(frame: Invoke, error: Fault, failure: Exception) -> NotInvoked:
    return NotInvoked(id=frame.id, error=error, why=redact(str(failure)).text[:_WHY])
