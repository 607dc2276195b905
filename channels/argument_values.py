"""Parse the values that commands take: how long a grant lasts, what ``/exec`` sets; pure."""

import re

from core.model.approval import THIS_SESSION, THIS_TASK, GrantTerms
from core.model.command import ExecOverrides
from core.model.policy import ExecAsk, ExecHost, ExecSecurity

_MS = {"m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
_TIME = re.compile(r"([1-9][0-9]{0,3})(m|min|h|d)")
_USES = re.compile(r"([1-9][0-9]{0,3})x")
_LONGEST_MS = 30 * 86_400_000
_SETTING = re.compile(r"(host|security|ask|node)[=:](\S{1,100})")
_NODE = re.compile(r"[\w:][\w.:-]{0,63}")
"""An id, its beginning, an address, or a name with hyphens for blanks (S0 "Node selection")."""


def grant_terms(word: str) -> GrantTerms | None:
    """Parse ``30m``, ``2h``, ``7d`` (30 days at most), ``5x``, ``session`` or ``task``."""
    word = word.lower().rstrip(".,;!")
    if word == "session":
        return THIS_SESSION
    if word == "task":
        return THIS_TASK
    uses = _USES.fullmatch(word)
    if uses:
        return GrantTerms(uses=int(uses[1]))
    time = _TIME.fullmatch(word)
    milliseconds = int(time[1]) * _MS[time[2]] if time else 0
    return GrantTerms(for_ms=milliseconds) if 0 < milliseconds <= _LONGEST_MS else None


def exec_overrides(words: list[str]) -> ExecOverrides | None:
    """Parse ``host=… security=… ask=… node=…`` (``=`` or ``:``); ``None`` if invalid."""
    given: dict[str, str] = {}
    for word in words:
        found = _SETTING.fullmatch(word)
        if found is None or found[1] in given:
            return None
        given[found[1]] = found[2]
    try:
        return ExecOverrides(
            host=ExecHost(given["host"].lower()) if "host" in given else None,
            security=ExecSecurity(given["security"].lower()) if "security" in given else None,
            ask=ExecAsk(given["ask"].lower()) if "ask" in given else None,
            node=_node(given["node"]) if "node" in given else None,
        )
    except ValueError:
        return None


def _node(name: str) -> str:
    if not _NODE.fullmatch(name):
        raise ValueError(name)
    return name
