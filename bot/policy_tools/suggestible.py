"""Select the allowlist entries that may be proposed to people, and the command that adds one."""

import shlex

from core.model.decision import Promise
from core.model.identity import AgentId
from core.programs.carriers import inline_options, is_carrier
from core.programs.wrappers import names_of, wrapper_kind

_CODE = frozenset(("-e", "-c", "-E", "-r", "--eval", "eval", "-eval"))
"""Options by which the tables distinguish interpreters from programs that merely run others."""


def suggestible(entry: Promise) -> bool:
    """Return whether an entry may be suggested: no shell, interpreter, wrapper or open carrier."""
    if entry.content:  # in the form in which it was offered it cannot be typed
        return False
    names = names_of(entry.pattern)
    if wrapper_kind(names, 0) or wrapper_kind(names, 1) or is_interpreter(names):
        return False
    return entry.argv is not None or not is_carrier(entry.pattern)


def is_interpreter(names: frozenset[str]) -> bool:
    """Return whether a program of these names takes programs as its arguments or input."""
    # make has --eval, but its programs are in the project, as are those of a test runner.
    return any(option in _CODE and name != "make" for name, option in inline_options(names))


def add_command(agent: AgentId, entry: Promise) -> str:
    """Return the command that puts an entry on an agent's allowlist."""
    words = ["sayso", "approvals", "allowlist", "add", "--agent", agent, entry.pattern]
    if entry.argv is not None:
        words += ["--argv", *entry.argv]
    return shlex.join(words)
