"""Parse what people type; pure (S1 "Reply in chat").

``/approve <id> allow-once|allow-always|deny`` in either word order, with the usual aliases. The
slash may be missing: Slack has no slash commands in threads. Whatever is meant for us but not
understood is ``Malformed``, so that the person gets a reply; ordinary talk is ``None``.
"""

import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches

from channels.argument_values import exec_overrides, grant_terms
from channels.commands import (
    MOST_LISTED,
    REPLY_USAGE,
    SLASH_COMMANDS,
    AgentList,
    Approve,
    BareReply,
    Command,
    Elevated,
    Help,
    HistoryList,
    LogIn,
    Malformed,
    NodeRequests,
    Pair,
    PairNode,
    PendingList,
    PromptAgent,
    ResetExec,
    RunLine,
    SetExec,
    Stop,
    StopAgent,
    Tail,
    unknown_command,
    usage_of,
)
from core.model.approval import ApprovalReply
from core.model.identity import CODE_LENGTH
from core.model.policy import Elevation

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


def parse(
    text: str, *, bot_name: str = "", is_reply: bool = False, private: bool = False
) -> Command | None:
    """Parse one message; ``None`` is ordinary talk or a command for another bot.

    ``bot_name`` is our own name at the platform, without ``@``. ``is_reply`` means that the message
    replies to one of our prompts, ``private`` that nobody else is in the chat: there each command
    is meant for us, even one that does not exist.
    """
    first, rest = _split(text)
    addressed = bool(bot_name) and _is_mention(first, bot_name)
    if addressed:
        first, rest = _split(rest)
    if not first:
        return Help() if addressed else None
    head = _COMMAND.fullmatch(first.lower())
    if head and head["bot"] and head["bot"] != bot_name.lower():
        return None
    meant = addressed or bool(head and (head["slash"] or head["bot"]))
    command = _typed(head["verb"], rest, meant=meant) if head else None
    if command is None and is_reply:
        command = _bare([first, *rest[:_LONGEST].split()])
    if command is not None:
        return command
    named = addressed or bool(head and head["bot"])
    return _unknown(first, rest, named=named, private=private)


def _unknown(first: str, rest: str, *, named: bool, private: bool) -> Command | None:
    """Return the reply to an unknown command, if it was meant for us."""
    verb = first.lower().lstrip("/").partition("@")[0]
    near = get_close_matches(verb, _VERBS, 1, _ALIKE)
    # Slack accepts no unknown command with a slash, so there the words after it must decide.
    answers = bool(near) and any(_names_approval(word) for word in rest[:_LONGEST].split())
    if private and (first.startswith("/") or answers):
        return Malformed(unknown_command(near[0] if near else ""))
    if not named:
        return None
    return Malformed(unknown_command(near[0])) if near else Malformed()


def _split(text: str) -> tuple[str, str]:
    """Return the first word, and what follows it as typed."""
    parts = text.split(None, 1)
    return (parts[0] if parts else "", parts[1].strip() if len(parts) > 1 else "")


def _is_mention(word: str, bot_name: str) -> bool:
    return word.rstrip(",:").lower() == f"@{bot_name.lower()}"


def _typed(verb: str, rest: str, *, meant: bool) -> Command | None:
    words = rest[:_LONGEST].split()
    if verb == "approve":
        return _approve(words, meant=meant)
    if not meant:
        return None
    if verb == "run":
        return RunLine(rest) if rest else Malformed(usage_of("run"))
    if verb == "agent":
        return _agent(rest) or Malformed(usage_of("agent"))
    reader = _READERS.get(verb)
    return (reader(words) or Malformed(usage_of(_FULL_NAMES.get(verb, verb)))) if reader else None


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
        if not _REF.fullmatch(_ref(ref)):
            continue
        said = _decision(decision, rest[2:], _WORDS)
        if said is not None:
            return Approve(_ref(ref), said.reply, said.note, said.terms, typed=True)
    return None


def _decision(word: str, rest: list[str], known: Mapping[str, ApprovalReply]) -> BareReply | None:
    """Parse a decision and what follows it: a reason after deny, a limit after always."""
    terms = grant_terms(word)
    if terms is not None:
        return None if rest else BareReply(ApprovalReply.ALLOW_ALWAYS, terms=terms)
    reply = known.get(word.lower().rstrip(",:;.!"))
    if reply is None:
        return None
    if reply is ApprovalReply.DENY:
        return BareReply(reply, _note(rest))
    if not rest:
        return BareReply(reply)
    terms = grant_terms(rest[-1]) if rest[:-1] in ([], ["for"]) else None
    if reply is ApprovalReply.ALLOW_ALWAYS and terms is not None:
        return BareReply(reply, terms=terms)
    return None


def _bare(words: list[str]) -> Command | None:
    said = _decision(words[0], words[1:], _REPLY_WORDS)
    first, rest = words[0].lower(), words[1:]
    if said is None:
        return Malformed(REPLY_USAGE) if first.rstrip(".,:;!") in _REPLY_WORDS else None
    # "no problem, go on" is not a denial: only the plain verbs, or an explicit reason, take words.
    plain = not rest or said.reply is not ApprovalReply.DENY
    reasoned = first in {"deny", "reject", "block"} or bool(_BECAUSE.match(" ".join(rest)))
    return said if plain or reasoned else Malformed(REPLY_USAGE)


def _note(words: list[str]) -> str:
    return _BECAUSE.sub("", " ".join(words))[:_LONGEST_NOTE]


def _ref(word: str) -> str:
    return word.strip("#,:;.<>`").lower().translate(_CROCKFORD)


def _names_approval(word: str) -> bool:
    return bool(_REF.fullmatch(_ref(word))) and any(letter.isdigit() for letter in word)


def _one_ref(words: list[str]) -> str | None:
    ref = _ref(words[0]) if len(words) == 1 else ""
    return ref if _REF.fullmatch(ref) else None


def _tail(words: list[str]) -> Command | None:
    ref = _one_ref(words)
    return Tail(ref) if ref else None


def _stop(words: list[str]) -> Command | None:
    ref = _one_ref(words)
    return Stop(ref) if ref else None


def _agent(rest: str) -> Command | None:
    """Parse what follows ``/agent``; the text of a prompt stays as it was written."""
    word, text = _split(rest)
    name = word.rstrip(",:")
    if not name:
        return AgentList()
    if name.lower() != "stop":
        return PromptAgent(name, text) if text else None
    words = text.split()
    ref = _one_ref(words)
    return StopAgent(ref or "") if ref or not words else None


def _history(words: list[str]) -> Command | None:
    if not words:
        return HistoryList()
    count = words[0] if len(words) == 1 and words[0].isascii() else ""
    return HistoryList(int(count)) if count.isdigit() and 0 < int(count) <= MOST_LISTED else None


def _exec(words: list[str]) -> Command | None:
    if [word.lower() for word in words] == ["reset"]:
        return ResetExec()
    overrides = exec_overrides(words)
    return None if overrides is None else SetExec(overrides)


def _elevated(words: list[str]) -> Command | None:
    known = words[0].lower() if len(words) == 1 else ""
    return Elevated(Elevation(known)) if known in tuple(Elevation) else None


def _pair(words: list[str]) -> Command | None:
    return Pair(_ref(words[0])) if len(words) == 1 else None


_NODE_WORDS = {
    **dict.fromkeys(("approve", "allow"), True),
    **dict.fromkeys(("deny", "reject", "block"), False),
}


def _node(words: list[str]) -> Command | None:
    if [word.lower() for word in words] in ([], ["list"]):
        return NodeRequests()
    allow = _NODE_WORDS.get(words[0].lower())
    code = _one_ref(words[1:])
    if allow is None or code is None or len(code) != CODE_LENGTH:
        return None
    return PairNode(code, allow)


def _start(words: list[str]) -> Command | None:
    """Parse ``/start``, and ``/start CODE``, which a deep link of Telegram sends."""
    return _pair(words) or Help()


_VERBS = tuple(command.name for command in SLASH_COMMANDS)
_ALIKE = 0.75
_FULL_NAMES = {"elev": "elevated", "start": "help"}
_READERS: Mapping[str, Callable[[list[str]], Command | None]] = {
    "pending": lambda _: PendingList(),
    "help": lambda _: Help(),
    "start": _start,
    "history": _history,
    "tail": _tail,
    "stop": _stop,
    "exec": _exec,
    "elevated": _elevated,
    "elev": _elevated,
    "node": _node,
    "pair": _pair,
    "login": lambda words: None if words else LogIn(),
}
