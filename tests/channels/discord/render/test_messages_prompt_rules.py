"""Apply every rule of tests/corpus/prompts.json to what Discord shows."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from channels.cards.build import build_outcome, build_prompt
from channels.cards.card import PromptCard
from channels.cards.lines import details, listed
from channels.discord.render.layout import unbroken
from channels.discord.render.messages import Message, payloads, render_outcome, render_prompt
from core.model.approval import Approval
from core.model.identity import Target
from core.text.render import command_text
from tests.channels.button_prompt_checks import SHARED
from tests.channels.prompt_checks import Entry, asked
from tests.contracts.channel_examples import OTHER_ID, approval, resolved
from tests.emulators.discord_rules import inside_code, markup, outside_code, utf16
from tests.support.hidden_characters import hidden
from tests.support.tables import rows

ENTRIES: list[Entry] = json.loads(
    (Path(__file__).parents[3] / "corpus" / "prompts.json").read_text()
)
BY_ID = {entry["id"]: entry for entry in ENTRIES}
_HERE = Target("discord", "700000000000000002")


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
        """Return the text of the message with the buttons."""
        return self.messages[-1].content

    @property
    def offered(self) -> str:
        """Return the text of all messages of the prompt."""
        return "\n".join(message.content for message in self.messages)

    @property
    def details(self) -> str:
        """Return what the button "Details" shows."""
        return listed(details(self.card)).text

    @property
    def words(self) -> list[str]:
        """Return every text that leaves."""
        files = [message.file.decode() for message in self.messages if message.file]
        return [message.content for message in (*self.messages, self.final)] + files

    @property
    def command(self) -> str:
        """Return the first block of the card."""
        return inside_code(self.last)[0]


def inert(entry: Entry, shown: Shown) -> None:
    """Nothing of a command is live, and the command is in one block, in prompt and end."""
    expected = unbroken(command_text(asked(entry).plan).text)
    assert shown.command == expected
    assert expected in inside_code(shown.final.content)


def fits(entry: Entry, shown: Shown) -> None:
    """The whole was offered; the tail, the length and the digest are shown."""
    text = unbroken(command_text(asked(entry).plan).text)
    parts = "".join(inside_code(message.content)[0] for message in shown.messages[:-1])
    assert text in parts
    assert text[-12:] in shown.last
    assert f"{len(entry['command']):,} characters" in shown.last
    assert shown.card.digest in shown.last


def empty_is_said(entry: Entry, shown: Shown) -> None:
    """No empty block; the text says so, and it can only be denied."""
    assert "The command is empty" in shown.last
    assert [button.label for button in shown.messages[-1].buttons] == ["Deny", "Details"]


def folder_in_code(entry: Entry, shown: Shown) -> None:
    """The folder is in code as the command is."""
    assert f"Folder: {entry['cwd']}" in inside_code(shown.last)[1]


def buttons_are_bound(entry: Entry, shown: Shown) -> None:
    """Buttons are components that name the whole id."""
    made = shown.messages[-1].buttons
    assert [button.label for button in made] == ["Allow once", "Always allow…", "Deny", "Details"]
    assert all(button.custom_id.endswith(f":{shown.card.id}") for button in made)
    assert len(shown.card.id) == 26


def status_outside(entry: Entry, shown: Shown) -> None:
    """The result is in another block than the command."""
    ending, command, _ = inside_code(shown.final.content)
    assert ending.startswith("Allowed once by")
    assert "Exec finished" in command
    assert "Allowed once by" not in command


def own_id(entry: Entry, shown: Shown) -> None:
    """The same command twice shows two codes, two times, two sets of buttons."""
    other = Shown.of(asked(entry, OTHER_ID))
    assert other.card.code in other.last
    assert shown.card.code in shown.last
    assert "Answer by <t:1763719800:T>" in shown.last
    assert not {*other.messages[-1].buttons} & {*shown.messages[-1].buttons}


def no_buttons_at_the_end(entry: Entry, shown: Shown) -> None:
    """The final state has no buttons."""
    assert shown.final.buttons == ()


RULES: dict[str, Callable[[Entry, Shown], None]] = {
    **SHARED,
    **dict.fromkeys(("sp-034", "sp-036"), fits),
    "sp-045": empty_is_said,
    "sp-106": folder_in_code,
    "sp-117": buttons_are_bound,
    "sp-118": status_outside,
    "sp-143": buttons_are_bound,
    "sp-144": own_id,
    "sp-145": no_buttons_at_the_end,
}
"""The rules beyond those that apply to every entry; all others require inert text."""


@rows("entry", ENTRIES)
def test_rule(entry: Entry) -> None:
    """What the entry requires is met; nothing pings, previews, hides or becomes markup."""
    shown = Shown.of(asked(entry))
    for body in payloads(shown.card, _HERE):
        assert body["allowed_mentions"] == {"parse": []}
        assert body["flags"] == 4
    for text in shown.words:
        assert not [letter for letter in text if hidden(letter)], text
    for message in (*shown.messages, shown.final):
        assert utf16(message.content) <= 2_000
        assert all(inside_code(message.content))
        live = [found for found in markup(message.content) if found[0] != "timestamp"]
        assert live == []
    for letter in set("".join(entry["command"])):
        if hidden(letter):
            assert f"\\u{{{ord(letter):04X}}}" in shown.command

    RULES.get(entry["id"], inert)(entry, shown)


@rows("number", ["068", "074", "077", "081", "082", "085", "087", "088"])
def test_the_checker_sees_a_missing_guard(number: str) -> None:
    """Negative control: the raw command as a message is live, or breaks our block."""
    command = BY_ID[f"sp-{number}"]["command"]
    fenced = f"```\n{command}\n```"

    assert markup(command) != [] or "rm -rf" in outside_code(fenced)
