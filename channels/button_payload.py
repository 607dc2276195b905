"""Encode what a button means in at most 58 bytes, and decode it; the same on every platform.

A press carries ``<letter>:<id>``: ``o`` once, ``c`` choose how long, ``a`` always, ``d`` deny,
``i`` details, ``s`` this session, ``k`` this task, ``m30`` for 30 minutes, ``t`` tail, ``x`` stop.
Under the notice of a node that asks to be paired it is ``n`` allow or ``r`` refuse, with a code.
That fits Telegram's 64 bytes, including a mark of the platform in front. The id is not a secret:
who may answer is checked at the press.
"""

import re

from channels.commands import (
    Approve,
    Choose,
    Command,
    Details,
    Malformed,
    PairNode,
    Stop,
    Tail,
)
from core.model.approval import THIS_SESSION, THIS_TASK, ApprovalReply, GrantTerms
from core.model.identity import CODE_LENGTH, ApprovalId

FOREIGN = "This button is from another version of Sayso, so nothing was changed. Use /approve."
_PRESS = re.compile(
    r"(?P<what>[ocadisktx]|m(?P<minutes>[1-9][0-9]{0,4})):(?P<id>[0-9a-hjkmnp-tv-z]{26})"
)
_NODE = re.compile(rf"(?P<what>[nr]):(?P<code>[0-9a-hjkmnp-tv-z]{{{CODE_LENGTH}}})")
_MINUTE_MS = 60_000
_REPLIES = {
    "o": ApprovalReply.ALLOW_ONCE,
    "a": ApprovalReply.ALLOW_ALWAYS,
    "d": ApprovalReply.DENY,
}
_BOUND = {"s": THIS_SESSION, "k": THIS_TASK}
_OTHERS: dict[str, type[Choose | Details | Tail | Stop]] = {
    "c": Choose,
    "i": Details,
    "t": Tail,
    "x": Stop,
}
_LETTERS = {reply: letter for letter, reply in _REPLIES.items()}


def answer(reply: ApprovalReply, approval: ApprovalId) -> str:
    """Return the press that answers a prompt."""
    return f"{_LETTERS[reply]}:{approval}"


def encode(command: Command) -> str:
    """Return the press that encodes a command; only those with an id fit a button.

    Raises:
        ValueError: the command has no button.
    """
    match command:
        case Approve(ref=ref, reply=reply, terms=terms):
            return f"{_LETTERS[reply] if terms is None else _limit(terms)}:{ref}"
        case Choose(ref=ref):
            return f"c:{ref}"
        case Details(ref=ref):
            return f"i:{ref}"
        case Tail(ref=ref):
            return f"t:{ref}"
        case Stop(ref=ref):
            return f"x:{ref}"
        case PairNode(code=code, allow=allow):
            return f"{'n' if allow else 'r'}:{code}"
        case _:
            raise ValueError(f"{type(command).__name__} has no button")


def decode(press: str) -> Command:
    """Decode a press; one not made by this version is ``Malformed``."""
    of_node = _NODE.fullmatch(press)
    if of_node is not None:
        return PairNode(of_node["code"], of_node["what"] == "n")
    found = _PRESS.fullmatch(press)
    if found is None:
        return Malformed(FOREIGN)
    what, ref = found["what"], found["id"]
    if what in _REPLIES:
        return Approve(ref, _REPLIES[what])
    if found["minutes"]:
        terms = GrantTerms(for_ms=int(found["minutes"]) * _MINUTE_MS)
        return Approve(ref, ApprovalReply.ALLOW_ALWAYS, terms=terms)
    if what in _BOUND:
        return Approve(ref, ApprovalReply.ALLOW_ALWAYS, terms=_BOUND[what])
    return _OTHERS[what](ref)


def _limit(terms: GrantTerms) -> str:
    for letter, bound in _BOUND.items():
        if terms == bound:
            return letter
    minutes, rest = divmod(terms.for_ms or 0, _MINUTE_MS)
    if minutes and not rest and terms == GrantTerms(for_ms=terms.for_ms):
        return f"m{minutes}"
    raise ValueError("a button can carry only minutes, this session or this task")
