"""Format what an agent's thread shows: what it has said so far, headed by whether it has ended.

The first line of each message is ours and everything below it the agent's, so no agent's words can
pass for its status. All of it is masked before it is cut: no cut reveals part of a secret.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from channels.base import Channel, Growing
from core.model.identity import AgentId, ApprovalId, code_of
from core.model.result import Denied, Finished, Pending, Submission, Unknown
from core.store.outbox.agent_messages import AgentMessage
from core.text.render import Redacted, own_lines, phrase, printed, redact
from core.text.secrets import mask

WORKS = "works; /agent stop ends it"
_ROOM = 300
"""Characters of a message that are reserved for its first line."""
_LONGEST_STATUS = 200
_MOST_MESSAGES = 12
_LONGEST_WORD = 500
_GOES_ON = "goes on below"
_WHY = "sayso: "
_UNFINISHED = re.compile(r"\S+\Z")
_OF_A_LANGUAGE = re.compile(r"[(\"'*`]*(?:[A-Z]?[a-z]{1,20}(?:['.-][a-z]{1,20})?)?[.,:;!?)\"'*`]*")
_PROBE = "x9Q7" * 4
"""Continues the last word, as a secret would."""


@dataclass(frozen=True, slots=True)
class Speaker:
    """The author of the words: an agent, and the prompt that it answers."""

    agent: AgentId
    run_id: ApprovalId | None

    def head(self, status: str, part: int = 1) -> str:
        """Return the first line of a message."""
        code = redact(code_of(self.run_id)).text if self.run_id else ""
        numbered = f" ({part})" if part > 1 else ""
        names = " \u00b7 ".join(filter(None, (code, redact(self.agent, strict=True).text)))
        shown = redact(status, strict=True).text
        short = shown if len(shown) <= _LONGEST_STATUS else f"{shown[:_LONGEST_STATUS]}…"
        return f"{names}{numbered}: {short}"


def settled(text: str, *, rests: bool = False) -> str:
    """Return the text that can be shown while more may follow, without an unfinished last word.

    ``rests``: nothing has followed for a while. Then the last word is shown if no secret begins
    with it.
    """
    found = _UNFINISHED.search(text, max(0, len(text) - _LONGEST_WORD))
    if found is None or (rests and _begins_no_secret(text, found[0])):
        return text
    return text[: found.start()]


def _begins_no_secret(text: str, word: str) -> bool:
    """Return whether a last word is an ordinary word, and not where a secret is expected."""
    if not _OF_A_LANGUAGE.fullmatch(word):
        return False
    return mask(text + _PROBE) == mask(text) + _PROBE


def messages(speaker: Speaker, channel: Channel, text: str, status: str) -> list[AgentMessage]:
    """Return the messages that show a text; a status heads the last one."""
    if not isinstance(channel, Growing):
        return [AgentMessage(speaker.head(status), printed(text).text)]
    pieces = channel.pieces(own_lines(text.rstrip("\n")), _ROOM) or (Redacted(""),)
    left_out = max(0, len(pieces) - _MOST_MESSAGES)
    kept = [*pieces[: _MOST_MESSAGES - 1], pieces[-1]] if left_out else list(pieces)
    heads = [speaker.head(_GOES_ON, number) for number in range(1, len(kept))]
    if left_out:
        status = f"{status} ({left_out} messages before this one are left out: sayso show)"
    heads.append(speaker.head(status, len(kept)))
    return [AgentMessage(head, piece.text) for head, piece in zip(heads, kept, strict=True)]


def ended(speaker: Speaker, shown: Sequence[AgentMessage], status: str) -> list[AgentMessage]:
    """Return what a thread already shows, now with the status heading its last message."""
    *before, last = shown or (AgentMessage(""),)
    return [*before, AgentMessage(speaker.head(status, len(shown) or 1), last.text)]


def status_of(end: Submission, stopped: str = "") -> str:
    """Describe in a few words the status of a prompt, or how it ended; ``stopped``: by whom."""
    match end:
        case Finished():
            return _finished(end, stopped)
        case Denied():
            return f"did not run ({end.reason}): {end.why}"
        case Unknown():
            return "ended: the gateway stopped while it worked, and did not see its end"
        case Pending():
            return f"waits for approval ({end.code})"
        case _:
            return WORKS


def words_of(end: Finished) -> str:
    """Return what an agent said, without our line that says why it failed."""
    text, why = end.output.text, _why(end)
    return text.removesuffix(f"{_WHY}{why}\n") if why else text


def given(agent: AgentId) -> Redacted:
    """Return the reply to the person who gave a prompt."""
    return phrase("Given to {}. Its words follow.", redact(agent, strict=True))


def _finished(end: Finished, stopped: str) -> str:
    usage = ", ".join(f"{name} {count}" for name, count in end.token_usage)
    took = f"{end.duration_ms / 1000:.1f} s"
    behind = f" ({took}; {usage})" if usage else f" ({took})"
    if end.cancelled:
        return f"{', '.join(filter(None, ('cancelled', stopped)))}{behind}"
    if end.exit_code == 0:
        return f"completed{behind}"
    return f"failed: {_why(end) or 'no reason was given'}{behind}"


def _why(end: Finished) -> str:
    """Return why an agent failed: the last line that its run's record has."""
    if end.exit_code == 0 or end.cancelled:
        return ""
    last = end.output.tail.rstrip("\n").rpartition("\n")[2]
    return last.removeprefix(_WHY) if last.startswith(_WHY) else ""
