"""Check what the rules of tests/corpus/prompts.json require of prompts with a Details button."""

from collections.abc import Callable
from typing import Protocol, Self

from channels.cards.card import PromptCard
from core.model.approval import Approval
from core.model.decision import Decision, Reason, SegmentVerdict
from tests.channels.prompt_checks import Entry
from tests.contracts.channel_examples import approval, plan


class ButtonPrompt(Protocol):
    """One prompt as a platform shows it, and its end."""

    @classmethod
    def of(cls, asked: Approval) -> Self:
        """Render an approval's prompt and its end."""

    @property
    def card(self) -> PromptCard:
        """Return what was rendered."""

    @property
    def last(self) -> str:
        """Return what the message with the buttons shows."""

    @property
    def offered(self) -> str:
        """Return what all messages of the prompt show."""

    @property
    def details(self) -> str:
        """Return what the button "Details" shows."""

    @property
    def command(self) -> str:
        """Return the command's block in the card."""

    @property
    def words(self) -> list[str]:
        """Return every text that leaves."""


Check = Callable[[Entry, ButtonPrompt], None]


def segments_named(entry: Entry, shown: ButtonPrompt) -> None:
    """The number of commands, those of concern first, and each program by name."""
    argvs = [tuple(part.split()) for part in entry["command"].split(";")]
    place = [argv[0] for argv in argvs].index("rm") + 1
    several = shown.of(approval(plan(*argvs), segments=tuple(_verdict(argv) for argv in argvs)))
    assert f"Why: command {place} of {len(argvs)}: rm is not on main's allowlist" in several.last
    assert f"{place}. rm -rf x (not on the allowlist)" in several.last
    for name in {argv[0] for argv in argvs}:
        assert f"{name}: /usr/bin/{name}" in several.offered + several.details
    assert several.last.index(f"{place}. rm -rf x (") < several.last.index("Folder: ")


def _verdict(argv: tuple[str, ...]) -> SegmentVerdict:
    if argv[0] == "rm":
        rule = "not on the allowlist"
        return SegmentVerdict(argv, "/usr/bin/rm", Decision.ASK, Reason.NOT_LISTED, rule)
    return SegmentVerdict(argv, f"/usr/bin/{argv[0]}", Decision.ALLOW, Reason.ALLOWLISTED, "")


def mark_is_ours(entry: Entry, shown: ButtonPrompt) -> None:
    """A fake truncation mark is escaped; ours is outside the command's block."""
    assert "\\u{2026} (truncated" in shown.command
    assert "…" not in shown.command


def has(*words: str) -> Check:
    """Return a check that the card has these words."""

    def check(entry: Entry, shown: ButtonPrompt) -> None:
        for word in words:
            assert word in shown.last

    return check


def behind(*words: str) -> Check:
    """Return a check that card or details have these words."""

    def check(entry: Entry, shown: ButtonPrompt) -> None:
        for word in words:
            assert word in f"{shown.last}\n{shown.details}"

    return check


def one_line_cwd(entry: Entry, shown: ButtonPrompt) -> None:
    """What a folder forges is not a line of its own."""
    lines = shown.last.splitlines()
    assert any(line.startswith("Folder: /tmp/x\\u{000A}") for line in lines)
    assert not any(line.startswith("Command:") for line in lines)


def no_description(entry: Entry, shown: ButtonPrompt) -> None:
    """What an agent says about a command is nowhere."""
    assert all(entry["description"] not in text for text in shown.words)


def program_flagged(entry: Entry, shown: ButtonPrompt) -> None:
    """A look-alike in a program's name is an escape, with the path next to it."""
    readable = shown.of(approval(plan(tuple(entry["command"].split()))))
    assert "l\\u{0455}: /usr/bin/l\\u{0455}" in readable.last


def secret_masked(entry: Entry, shown: ButtonPrompt) -> None:
    """The secret is nowhere, its mark and the digest are."""
    assert all("sk-live-0123456789abcdef0123" not in text for text in shown.words)
    assert "[secret: " in shown.command
    assert shown.card.digest in shown.last


def order_kept(entry: Entry, shown: ButtonPrompt) -> None:
    """Right-to-left letters are escapes, so every word stays in reading order."""
    assert shown.command.endswith({"sp-028": "; rm -rf x", "sp-029": " && ls"}[entry["id"]])


SHARED: dict[str, Check] = {
    **dict.fromkeys(("sp-028", "sp-029"), order_kept),
    **dict.fromkeys(("sp-039", "sp-040"), segments_named),
    "sp-038": mark_is_ours,
    "sp-105": one_line_cwd,
    "sp-109": has("Folder: /tmp/current"),
    "sp-112": behind("m\\u{0430}in", "agent:main:main"),
    "sp-114": behind("(unnamed agent)", "Id: 7k3f9q0123456789abcdefghjk"),
    "sp-121": no_description,
    "sp-122": program_flagged,
    "sp-126": has("\\u{2013}la \\u{2212}a"),
    "sp-131": has("rm -rf 'a b'"),
    "sp-133": has("rm -rf ''"),
    "sp-134": has("ls: /tmp/evil/ls; not in a system folder", "Sets: PATH"),
    "sp-142": secret_masked,
}
"""The rules that apply in the same words; the platforms add those about their own objects."""
