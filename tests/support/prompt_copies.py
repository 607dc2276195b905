"""Read the copies of prompts from three platforms, and judge whether each is true."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from core.model.approval import ApprovalState
from tests.emulators.slack_rules import buttons, seen

Json = dict[str, Any]

_ID = re.compile(r"[0-9a-hjkmnp-tv-z]{26}$")
_ENDINGS = {
    ApprovalState.ALLOWED: "Allowed once by",
    ApprovalState.DENIED: "Denied by",
    ApprovalState.EXPIRED: "Expired at",
}


@dataclass(frozen=True, slots=True)
class Copy:
    """One message of the bot: its place and id, what it says, what its buttons send."""

    place: str
    id: str
    text: str
    buttons: tuple[str, ...]

    def offers(self, approval: str) -> bool:
        """Return whether the message has buttons for this approval."""
        return any(button.endswith(approval) for button in self.buttons)

    @property
    def open(self) -> frozenset[str]:
        """Return the approvals for which the message has buttons."""
        found = (_ID.search(button) for button in self.buttons)
        return frozenset(one[0] for one in found if one)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question: its id and code, where it was asked, and a word unique to its command."""

    id: str
    code: str
    place: str
    key: str


@dataclass(slots=True)
class Findings:
    """The findings: prompts never shown, copies that are wrong, superfluous messages."""

    lost: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    duplicates: set[str] = field(default_factory=set)

    @property
    def clean(self) -> bool:
        """Return whether nothing is lost, wrong or duplicated."""
        return not (self.lost or self.wrong or self.duplicates)


def from_slack(place: str, message: Json) -> Copy:
    """Read a message of Slack."""
    blocks = message["blocks"]
    sent = tuple(button["action_id"] for button in buttons(blocks))
    return Copy(place, message["ts"], seen(blocks), sent)


def from_telegram(place: str, message: Json) -> Copy:
    """Read a message of Telegram."""
    rows = (message.get("reply_markup") or {}).get("inline_keyboard", [])
    sent = tuple(button["callback_data"] for row in rows for button in row)
    return Copy(place, str(message["message_id"]), message["text"], sent)


def from_discord(place: str, message: Json) -> Copy:
    """Read a message of Discord."""
    rows = message["components"]
    sent = tuple(button["custom_id"] for row in rows for button in row["components"])
    return Copy(place, message["id"], message["content"], sent)


def judge(
    asked: Iterable[Asked], truth: dict[str, ApprovalState], copies: Iterable[Copy]
) -> Findings:
    """Compare every copy with how its question ended; each was asked in one place."""
    questions, shown = list(asked), list(copies)
    codes = re.compile("|".join(one.code for one in questions))
    found = Findings()
    for one in questions:
        mine = [copy for copy in shown if copy.place == one.place and _shows(copy, one)]
        if not mine:
            found.lost.append(one.code)
        found.duplicates |= {f"{copy.place}/{copy.id}" for copy in mine[1:]}
        for copy in mine:
            told = _told(copy.text, one.code, codes)
            ended = truth[one.id] is not ApprovalState.PENDING
            if copy.offers(one.id) is ended or told != [truth[one.id]][: int(ended)]:
                found.wrong.append(f"{one.code} is {truth[one.id]}; {copy.place} tells {told}")
    return found


def _shows(copy: Copy, one: Asked) -> bool:
    """Return whether a message shows a question; an answer to a press contains its code alone."""
    command = re.search(rf"(?<![\w-]){re.escape(one.key)}(?![\w-])", copy.text)
    return one.code in copy.text and command is not None


def _told(text: str, code: str, codes: re.Pattern[str]) -> list[ApprovalState]:
    """Return the endings that a message states for one of its questions."""
    own = text[text.index(code) + len(code) :]
    following = codes.search(own)
    part = own[: following.start()] if following else own
    return [state for state, words in _ENDINGS.items() if words in part]
