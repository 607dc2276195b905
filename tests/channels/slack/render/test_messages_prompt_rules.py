"""Apply every rule of tests/corpus/prompts.json to what Slack shows."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Self

import pytest

from channels.cards.build import build_outcome, build_prompt
from channels.cards.card import PromptCard
from channels.cards.lines import details, listed
from channels.slack.render.layout import Json
from channels.slack.render.messages import Message, payloads, render_outcome, render_prompt
from core.model.approval import Approval
from core.model.identity import Target
from core.text.render import command_text
from tests.channels.button_prompt_checks import SHARED, has
from tests.channels.prompt_checks import Entry, asked
from tests.channels.slack.workspace import boxed
from tests.contracts.channel_examples import OTHER_ID, approval, resolved
from tests.emulators.slack_rules import buttons, check_blocks, check_metadata, seen, texts
from tests.support.hidden_characters import hidden
from tests.support.tables import rows

ENTRIES: list[Entry] = json.loads(
    (Path(__file__).parents[3] / "corpus" / "prompts.json").read_text()
)
BY_ID = {entry["id"]: entry for entry in ENTRIES}
_HERE = Target("slack", "C0OPS0001")
_LITERAL = {"plain_text", "text"}
"""The objects that Slack shows as they are: plain text, and text in a preformatted box."""
_LIVE = re.compile(r"<[!@#]|<[a-z]+:|[*_~`]")


@dataclass(frozen=True, slots=True)
class Shown:
    """One prompt and its end."""

    card: PromptCard
    messages: tuple[Message, ...]
    final: Message

    @classmethod
    def of(cls, asked: Approval) -> Self:
        """Render an approval's prompt and its end."""
        card = build_prompt(asked)
        ended = approval(asked.plan, id=asked.id, resolution=resolved())
        return cls(card, render_prompt(card), render_outcome(build_outcome(ended)))

    @property
    def last(self) -> str:
        """Return what the message with the buttons shows."""
        return seen(self.messages[-1].blocks)

    @property
    def offered(self) -> str:
        """Return what all messages of the prompt show."""
        return "\n".join(seen(message.blocks) for message in self.messages)

    @property
    def details(self) -> str:
        """Return what the button "Details" shows."""
        return listed(details(self.card)).text

    @property
    def texts(self) -> list[tuple[str, str]]:
        """Return every text that leaves, with the kind of object that contains it."""
        messages = (*self.messages, self.final)
        words = (("notification", message.text) for message in messages)
        return [*texts([message.blocks for message in messages]), *words]

    @property
    def words(self) -> list[str]:
        """Return every text that leaves."""
        return [text for _, text in self.texts]

    @property
    def command(self) -> str:
        """Return the command's box in the card."""
        return boxed(self.messages[-1].blocks)[0]

    @property
    def buttons(self) -> list[dict[str, Any]]:
        """Return the buttons of the card."""
        return buttons(self.messages[-1].blocks)


def inert(entry: Entry, shown: Shown) -> None:
    """The command is whole in one box, in prompt and end, each character as typed."""
    expected = command_text(asked(entry).plan).text
    assert shown.command == expected
    assert boxed(shown.final.blocks) == [expected]


def fits(entry: Entry, shown: Shown) -> None:
    """The whole was offered before; the tail, the length and the digest are shown."""
    text = command_text(asked(entry).plan).text
    offered = list(chain.from_iterable(boxed(message.blocks) for message in shown.messages[:-1]))
    assert text in ("".join(offered) or "".join(boxed(shown.messages[-1].blocks)))
    assert text[-12:] in shown.last
    assert f"{len(entry['command']):,} characters" in shown.last
    assert shown.card.digest in shown.last
    assert [bool(buttons(message.blocks)) for message in shown.messages].count(True) == 1


def empty_is_said(entry: Entry, shown: Shown) -> None:
    """No empty box; the text says so, and it can only be denied."""
    assert boxed(shown.messages[-1].blocks) == []
    assert "The command is empty" in shown.last
    assert [button["text"]["text"] for button in shown.buttons] == ["Deny", "Details"]


def buttons_are_bound(entry: Entry, shown: Shown) -> None:
    """Buttons are components that name the whole id."""
    labels = ["Allow once", "Always allow…", "Deny", "Details"]
    assert [button["text"]["text"] for button in shown.buttons] == labels
    presses = {button["action_id"].partition(":")[2] for button in shown.buttons}
    assert presses == {shown.card.id}
    assert len(shown.card.id) == 26


def status_outside(entry: Entry, shown: Shown) -> None:
    """The result is in another block than the command."""
    ending = seen([shown.final.blocks[0]])
    (command,) = boxed(shown.final.blocks)
    assert ending.startswith("7K3F9Q · Allowed once by")
    assert "Exec finished" in command
    assert "Allowed once by" not in command


def own_id(entry: Entry, shown: Shown) -> None:
    """The same command twice shows two codes, two times, two sets of buttons."""
    other = Shown.of(asked(entry, OTHER_ID))
    assert other.card.code in other.last
    assert shown.card.code in shown.last
    assert "10:10:00 UTC" in shown.last
    assert not {one["action_id"] for one in other.buttons} & {
        one["action_id"] for one in shown.buttons
    }


def no_buttons_at_the_end(entry: Entry, shown: Shown) -> None:
    """The final state has no buttons."""
    assert buttons(shown.final.blocks) == []


RULES: dict[str, Callable[[Entry, Shown], None]] = {
    **SHARED,
    **dict.fromkeys(("sp-034", "sp-036"), fits),
    "sp-045": empty_is_said,
    "sp-106": has("Folder: /tmp/`*x*` <!channel> <b>"),
    "sp-113": has("Agent: <!channel|main> · "),
    "sp-117": buttons_are_bound,
    "sp-118": status_outside,
    "sp-143": buttons_are_bound,
    "sp-144": own_id,
    "sp-145": no_buttons_at_the_end,
}
"""The rules beyond those that apply to every entry; all others require inert text."""


@rows("entry", ENTRIES)
def test_rule(entry: Entry) -> None:
    """What the entry requires is met; nothing is markup, mention or preview, nothing is hidden."""
    shown = Shown.of(asked(entry))
    for body in payloads(shown.card, _HERE):
        check_blocks(body["blocks"])
        check_metadata(body["metadata"])  # type: ignore[arg-type]
        assert body["parse"] == "none"
        assert (body["mrkdwn"], body["link_names"]) == (False, False)
        assert (body["unfurl_links"], body["unfurl_media"]) == (False, False)
    for kind, text in shown.texts:
        assert kind in _LITERAL or (kind == "notification" and not _LIVE.search(text)), text
        assert not [letter for letter in text if hidden(letter)], text
    for letter in set("".join(entry["command"])):
        if hidden(letter):
            assert f"\\u{{{ord(letter):04X}}}" in shown.command

    RULES.get(entry["id"], inert)(entry, shown)


@pytest.mark.parametrize("number", ["059", "060", "062", "064", "066", "068", "069"])
def test_the_checker_sees_a_missing_guard(number: str) -> None:
    """Negative control: the raw command in the notification, which is markup, is seen as live."""
    assert _LIVE.search(BY_ID[f"sp-{number}"]["command"])
    block: Json = {"type": "section", "text": {"type": "mrkdwn", "text": "x"}}
    assert {kind for kind, _ in texts([block])} - _LITERAL == {"mrkdwn"}
