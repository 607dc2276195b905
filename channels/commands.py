"""Read what people type; pure (S1 "Reply in chat").

``/approve <id> allow-once|allow-always|deny`` in either word order, with the usual aliases. The
slash may be missing: Slack has no slash commands in threads. Whatever is meant for us and not
understood is ``Malformed``, so that the person is told; ordinary talk is ``None``.
"""

import re
from dataclasses import dataclass

from core.model.approval import ApprovalReply
from core.model.identity import CODE_LENGTH

USAGE = (
    "Not understood, so nothing was changed. Send: /approve CODE allow-once, "
    "/approve CODE allow-always or /approve CODE deny REASON. /pending lists what is waiting."
)
REPLY_USAGE = (
    "Not understood, so nothing was changed. Reply to the prompt with yes, no, always or "
    "deny REASON."
)
HELP = (
    "/approve CODE allow-once: run it this once\n"
    "/approve CODE allow-always: run it, and allow what the prompt names from now on\n"
    "/approve CODE deny REASON: do not run it; the agent reads the reason\n"
    "/pending: what is waiting for an answer\n"
    "A reply to a prompt may be just yes, no, always or deny REASON."
)

_WORDS = {
    **dict.fromkeys(("allow", "once", "allow-once", "allowonce"), ApprovalReply.ALLOW_ONCE),
    **dict.fromkeys(("always", "allow-always", "allowalways"), ApprovalReply.ALLOW_ALWAYS),
    **dict.fromkeys(("deny", "reject", "block"), ApprovalReply.DENY),
}
_REPLY_WORDS = {
    **_WORDS,
    **dict.fromkeys(("yes", "y", "approve"), ApprovalReply.ALLOW_ONCE),
    **dict.fromkeys(("no", "n"), ApprovalReply.DENY),
}
_CROCKFORD = str.maketrans("oil", "011")
_REF = re.compile(rf"[0-9a-hjkmnp-tv-z]{{{CODE_LENGTH},26}}")
_COMMAND = re.compile(r"(?P<slash>/?)(?P<verb>[a-z]+)(?:@(?P<bot>[a-z0-9_]+))?")
_BECAUSE = re.compile(r"^(?:because\b|[:,;–—-])\s*", re.IGNORECASE)  # noqa: RUF001 - phones type dashes
_LONGEST = 4_000
_LONGEST_NOTE = 500


@dataclass(frozen=True, slots=True)
class Approve:
    """An answer to the approval whose id, code or unique prefix is ``ref`` (lower-case)."""

    ref: str
    reply: ApprovalReply
    note: str = ""


@dataclass(frozen=True, slots=True)
class BareReply:
    """An answer to the prompt that the message replies to."""

    reply: ApprovalReply
    note: str = ""


@dataclass(frozen=True, slots=True)
class PendingList:
    """A wish to see what is waiting."""


@dataclass(frozen=True, slots=True)
class Help:
    """A wish to see the commands."""


@dataclass(frozen=True, slots=True)
class Malformed:
    """Something meant for us that is no command; ``usage`` says what would be one."""

    usage: str = USAGE


Command = Approve | BareReply | PendingList | Help | Malformed


def parse(text: str, *, bot_name: str = "", is_reply: bool = False) -> Command | None:
    """Read one message; ``None`` is ordinary talk or a command for another bot.

    ``bot_name`` is our own name at the platform, without ``@``. ``is_reply`` says that the message
    replies to a prompt of ours.
    """
    words = text[:_LONGEST].split()
    addressed = bool(bot_name) and bool(words) and _is_mention(words[0], bot_name)
    if addressed:
        words = words[1:]
    if not words:
        return Help() if addressed else None
    head = _COMMAND.fullmatch(words[0].lower())
    if head and head["bot"] and head["bot"] != bot_name.lower():
        return None
    meant = addressed or bool(head and (head["slash"] or head["bot"]))
    command = _typed(head["verb"], words[1:], meant=meant) if head else None
    if command is None and is_reply:
        command = _bare(words)
    return command or (Malformed() if addressed or (head and head["bot"]) else None)


def _is_mention(word: str, bot_name: str) -> bool:
    return word.rstrip(",:").lower() == f"@{bot_name.lower()}"


def _typed(verb: str, rest: list[str], *, meant: bool) -> Command | None:
    if verb == "approve":
        return _approve(rest, meant=meant)
    if not meant:
        return None
    if verb in {"help", "start"}:
        return Help()
    return PendingList() if verb == "pending" else None


def _approve(rest: list[str], *, meant: bool) -> Command | None:
    understood = _answer(rest)
    if understood is not None:
        return understood
    # Without a slash, only words that name an approval show that it was meant for us.
    return Malformed() if meant or any(_names_approval(word) for word in rest) else None


def _answer(rest: list[str]) -> Approve | None:
    if len(rest) < 2:  # noqa: PLR2004 - an id and a decision
        return None
    for ref, decision in ((rest[0], rest[1]), (rest[1], rest[0])):
        reply = _WORDS.get(decision.lower().rstrip(",:;."))
        if reply is not None and _REF.fullmatch(_ref(ref)):
            return _noted(_ref(ref), reply, rest[2:])
    return None


def _noted(ref: str, reply: ApprovalReply, words: list[str]) -> Approve | None:
    if words and reply is not ApprovalReply.DENY:
        return None
    return Approve(ref, reply, _note(words))


def _bare(words: list[str]) -> Command | None:
    first = words[0].lower()
    reply = _REPLY_WORDS.get(first.rstrip(".,:;!"))
    if reply is None:
        return None
    rest = words[1:]
    if not rest:
        return BareReply(reply)
    # "no problem, go on" is no denial: only the plain verbs, or a reason that says so, take words.
    reasoned = first in {"deny", "reject", "block"} or bool(_BECAUSE.match(" ".join(rest)))
    if reply is ApprovalReply.DENY and reasoned:
        return BareReply(reply, _note(rest))
    return Malformed(REPLY_USAGE)


def _note(words: list[str]) -> str:
    return _BECAUSE.sub("", " ".join(words))[:_LONGEST_NOTE]


def _ref(word: str) -> str:
    return word.strip("#,:;.<>`").lower().translate(_CROCKFORD)


def _names_approval(word: str) -> bool:
    return bool(_REF.fullmatch(_ref(word))) and any(letter.isdigit() for letter in word)
