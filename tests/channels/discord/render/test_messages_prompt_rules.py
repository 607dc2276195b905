"""Every rule of tests/corpus/prompts.json, on what Discord shows."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from channels.cards import PromptCard, build_outcome, build_prompt
from channels.discord.render.layout import unbroken
from channels.discord.render.messages import Message, payloads, render_outcome, render_prompt
from core.model.approval import Approval
from core.model.decision import Decision, Reason, SegmentVerdict
from core.model.identity import Target
from core.text.render import command_text
from tests.channels.prompt_checks import Entry, asked
from tests.contracts.channel_examples import OTHER_ID, approval, plan, resolved
from tests.emulators.discord_rules import inside_code, markup, outside_code, utf16
from tests.support.hidden_characters import hidden

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

    @property
    def last(self) -> str:
        """Return the text of the message with the buttons."""
        return self.messages[-1].content

    @property
    def texts(self) -> list[str]:
        """Return every text that leaves."""
        files = [message.file.decode() for message in self.messages if message.file]
        return [message.content for message in (*self.messages, self.final)] + files

    @property
    def command(self) -> str:
        """Return the first block of the card."""
        return inside_code(self.last)[0]


def show(of: Approval) -> Shown:
    """Render an approval's prompt and its end."""
    card = build_prompt(of)
    ended = approval(of.plan, id=of.id, resolution=resolved())
    return Shown(card, render_prompt(card), render_outcome(build_outcome(ended)))


def inert(entry: Entry, shown: Shown) -> None:
    """Nothing of a command is live, and the command stands in one block, in prompt and end."""
    expected = unbroken(command_text(asked(entry).plan).text)
    assert shown.command == expected
    assert expected in inside_code(shown.final.content)


def fits(entry: Entry, shown: Shown) -> None:
    """The whole was offered, the tail is shown, length and digest are."""
    text = unbroken(command_text(asked(entry).plan).text)
    parts = "".join(inside_code(message.content)[0] for message in shown.messages[:-1])
    assert text in parts
    assert text[-12:] in shown.last
    assert f"{len(entry['command']):,} characters" in shown.last
    assert shown.card.digest in shown.last


def segments_named(entry: Entry, shown: Shown) -> None:
    """The number of commands, those of concern first, and each program by name."""
    argvs = [tuple(part.split()) for part in entry["command"].split(";")]
    place = [argv[0] for argv in argvs].index("rm") + 1
    several = show(approval(plan(*argvs), segments=tuple(_verdict(argv) for argv in argvs)))
    offered = "\n".join(message.content for message in several.messages)
    assert f"Commands: {len(argvs)}" in several.last
    assert f"{place}. rm -rf x (not on the allowlist)" in several.last
    for name in {argv[0] for argv in argvs}:
        assert f"{name}: /usr/bin/{name}" in offered
    assert several.last.index(f"{place}. rm") < several.last.rindex("Programs: ")


def _verdict(argv: tuple[str, ...]) -> SegmentVerdict:
    if argv[0] == "rm":
        rule = "not on the allowlist"
        return SegmentVerdict(argv, "/usr/bin/rm", Decision.ASK, Reason.NOT_LISTED, rule)
    return SegmentVerdict(argv, f"/usr/bin/{argv[0]}", Decision.ALLOW, Reason.ALLOWLISTED, "")


def mark_is_ours(entry: Entry, shown: Shown) -> None:
    """A fake truncation mark is escaped; ours stands outside the command's block."""
    assert "\\u{2026} (truncated" in shown.command
    assert "…" not in shown.command


def empty_is_said(entry: Entry, shown: Shown) -> None:
    """No empty block; the text says so, and it can only be denied."""
    assert "The command is empty" in shown.last
    assert [button.label for button in shown.messages[-1].buttons] == ["Deny"]


def has(*words: str) -> Callable[[Entry, Shown], None]:
    """Return a check that the card holds these words."""

    def check(entry: Entry, shown: Shown) -> None:
        for word in words:
            assert word in shown.last

    return check


def one_line_cwd(entry: Entry, shown: Shown) -> None:
    """What a folder forges is no line of its own."""
    lines = shown.last.splitlines()
    assert any(line.startswith("Folder: /tmp/x\\u{000A}") for line in lines)
    assert not any(line.startswith("Command:") for line in lines)


def folder_in_code(entry: Entry, shown: Shown) -> None:
    """The folder stands in code as the command does."""
    assert f"Folder: {entry['cwd']}" in inside_code(shown.last)[1]


def buttons_are_bound(entry: Entry, shown: Shown) -> None:
    """Buttons are components that name the whole id."""
    made = shown.messages[-1].buttons
    assert [button.label for button in made] == ["Allow once", "Always allow…", "Deny"]
    assert all(button.custom_id.endswith(f":{shown.card.id}") for button in made)
    assert len(shown.card.id) == 26


def status_outside(entry: Entry, shown: Shown) -> None:
    """What became of it stands in another block than the command."""
    ending, command, _ = inside_code(shown.final.content)
    assert ending.startswith("Allowed once by")
    assert "Exec finished" in command
    assert "Allowed once by" not in command


def no_description(entry: Entry, shown: Shown) -> None:
    """What an agent says about a command is nowhere."""
    assert all(entry["description"] not in text for text in shown.texts)


def program_flagged(entry: Entry, shown: Shown) -> None:
    """A look-alike in a program's name is an escape, the path beside it."""
    readable = show(approval(plan(tuple(entry["command"].split()))))
    assert "l\\u{0455}: /usr/bin/l\\u{0455}" in readable.last


def secret_masked(entry: Entry, shown: Shown) -> None:
    """The secret is nowhere, its mark and the digest are."""
    assert all("sk-live-0123456789abcdef0123" not in text for text in shown.texts)
    assert "[secret: " in shown.command
    assert shown.card.digest in shown.last


def own_id(entry: Entry, shown: Shown) -> None:
    """The same command twice shows two codes, two times, two sets of buttons."""
    other = show(asked(entry, OTHER_ID))
    assert other.card.code in other.last
    assert shown.card.code in shown.last
    assert "Answer by <t:1763719800:T>" in shown.last
    assert not {*other.messages[-1].buttons} & {*shown.messages[-1].buttons}


def no_buttons_at_the_end(entry: Entry, shown: Shown) -> None:
    """The final state has no buttons."""
    assert shown.final.buttons == ()


def order_kept(entry: Entry, shown: Shown) -> None:
    """Right-to-left letters are escapes, so every word stays in reading order."""
    assert shown.command.endswith({"sp-028": "; rm -rf x", "sp-029": " && ls"}[entry["id"]])


Check = Callable[[Entry, Shown], None]
RULES: dict[str, Check] = {
    **dict.fromkeys(("sp-028", "sp-029"), order_kept),
    **dict.fromkeys(("sp-034", "sp-036"), fits),
    **dict.fromkeys(("sp-039", "sp-040"), segments_named),
    "sp-038": mark_is_ours,
    "sp-045": empty_is_said,
    "sp-105": one_line_cwd,
    "sp-106": folder_in_code,
    "sp-109": has("Folder: /tmp/current"),
    "sp-112": has("m\\u{0430}in", "agent:main:main"),
    "sp-114": has("(unnamed agent)", "Id: 7k3f9q0123456789abcdefghjk"),
    "sp-117": buttons_are_bound,
    "sp-118": status_outside,
    "sp-121": no_description,
    "sp-122": program_flagged,
    "sp-126": has("\\u{2013}la \\u{2212}a"),
    "sp-131": has("rm -rf 'a b'"),
    "sp-133": has("rm -rf ''"),
    "sp-134": has("ls: /tmp/evil/ls; not in a system folder", "Sets: PATH"),
    "sp-142": secret_masked,
    "sp-143": buttons_are_bound,
    "sp-144": own_id,
    "sp-145": no_buttons_at_the_end,
}
"""The rules beyond those that hold for every entry; all others ask for inert text."""


@pytest.mark.parametrize("entry", ENTRIES, ids=[entry["id"] for entry in ENTRIES])
def test_rule(entry: Entry) -> None:
    """What the entry demands holds; nothing pings, previews, hides or becomes markup."""
    shown = show(asked(entry))
    for body in payloads(shown.card, _HERE):
        assert body["allowed_mentions"] == {"parse": []}
        assert body["flags"] == 4
    for text in shown.texts:
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


@pytest.mark.parametrize("number", ["068", "074", "077", "081", "082", "085", "087", "088"])
def test_the_checker_sees_a_missing_guard(number: str) -> None:
    """Negative control: the raw command as a message is live, or breaks our block."""
    command = BY_ID[f"sp-{number}"]["command"]
    fenced = f"```\n{command}\n```"

    assert markup(command) != [] or "rm -rf" in outside_code(fenced)
