"""Offer the tools for every agent that is granted them; Exec is not among them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from core.gate.tools.protocol import Ready, ToolAnswer, ToolCall, ToolDone, ToolError, ToolRefused
from core.gate.tools.redaction import redacted_argv
from core.gate.tools.registry import Tools, capabilities
from core.model.command import PinnedFile
from core.planning.paths.search_path import SearchPath
from core.policy.rules.capabilities import Capabilities
from core.policy.rules.compiled import Compiled

_MOST_NAMES = 16
_LONGEST_NAME = 255


def register_builtin_tools(tools: Tools, search: SearchPath) -> None:
    """Offer Which. Exec is opt-in and is registered by ``register_exec_tool`` alone (S3)."""
    tools.register(WhichTool(tools.compiled, search))


@dataclass(frozen=True, slots=True)
class WhichTool:
    """Return the absolute path of programs: Exec takes no bare names.

    ``{"names": ["git"]}`` is answered with ``{"paths": {"git": "/usr/bin/git"}}``, ``null`` where
    the fixed search path has no such program below the folders that the agent may read.
    """

    compiled: Compiled
    search: SearchPath
    name: str = field(default="Which", init=False)

    def read(self, call: ToolCall) -> Ready | ToolRefused:
        """Check the names."""
        names = call.args.get("names")
        if set(call.args) != {"names"} or not isinstance(names, list):
            return _invalid("Which takes names, a list of strings, and nothing else")
        if not 1 <= len(names) <= _MOST_NAMES:
            return _invalid(f"names must hold from 1 to {_MOST_NAMES} names")
        for place, name in enumerate(names):
            if not isinstance(name, str) or not _bare(name):
                return _invalid(f"names[{place}] must be the bare name of a program")
        granted = capabilities(self.compiled, call.agent)
        record = {"names": redacted_argv(tuple(names))}

        async def work() -> ToolAnswer:
            return ToolDone({"paths": self._paths(names, granted)})

        return Ready(record, work)

    def _paths(self, names: list[str], granted: Capabilities | None) -> Mapping[str, str | None]:
        return {name: self._path(name, granted) for name in names}

    def _path(self, name: str, granted: Capabilities | None) -> str | None:
        found = self.search.find(name, "/")
        if granted is None or not isinstance(found, PinnedFile):
            return None
        seen = granted.may_read(found.path) and granted.may_read(found.realpath)
        return found.path if seen else None


def _bare(name: str) -> bool:
    return 0 < len(name) <= _LONGEST_NAME and name.isprintable() and "/" not in name


def _invalid(why: str) -> ToolRefused:
    return ToolRefused(ToolError.INVALID_ARGS, why)
