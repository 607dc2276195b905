"""Check one rendered prompt against the rules of tests/corpus/prompts.json."""

import json
from typing import Any

from core.model.approval import Approval
from core.model.decision import Decision, Reason, SegmentVerdict
from core.model.identity import ApprovalId
from core.text.render import command_text
from core.text.secrets import mask
from tests.channels.rendered import Rendered, render
from tests.contracts.channel_examples import OTHER_ID, approval, plan
from tests.emulators.telegram_rules import tappable, utf16
from tests.support.hidden_characters import hidden

Entry = dict[str, Any]


def asked(entry: Entry, id: ApprovalId | None = None) -> Approval:  # noqa: A002 - the model's own word
    """Return the approval that an entry describes: a vector, or a text that a shell would run."""
    command = entry["command"]
    where = {"cwd": entry["cwd"], "agent": entry["agent"]}
    if isinstance(command, list):
        folder = "/tmp/evil/" if "env" in entry else "/usr/bin/"
        of = plan(tuple(command), env=tuple(entry.get("env", {})), folder=folder, **where)
    else:
        of = plan(text=command, **where)
    return approval(of, id=id or approval().id)


def nothing_hidden(entry: Entry, shown: Rendered) -> None:
    """Nothing invisible, bidi or blank-looking is raw; each is shown as an escape."""
    for text in shown.texts:
        assert not [letter for letter in text if hidden(letter)], text
    command = entry["command"]
    for letter in set(command if isinstance(command, str) else "".join(command)):
        if hidden(letter):
            assert f"\\u{{{ord(letter):04X}}}" in shown.offered
            assert f"\\u{{{ord(letter):04X}}}" in shown.terminal


def unchanged(entry: Entry, shown: Rendered) -> None:
    """The stored command is what was requested."""
    stored = asked(entry).plan
    command = entry["command"]
    if isinstance(command, str):
        assert stored.text == command
    else:
        assert list(stored.commands[0].argv) == command


def inert(entry: Entry, shown: Rendered) -> None:
    """Nothing becomes a link, mention, command or formatting; the command is in one block."""
    for message in (*shown.messages, shown.final):
        raw = [json.loads(entity.to_json()) for entity in message.entities]
        assert tappable(message.text, raw) == []
    expected = command_text(asked(entry).plan).text
    assert expected in shown.blocks()
    assert expected in shown.blocks(shown.final)


def fits(entry: Entry, shown: Rendered) -> None:
    """The whole command is offered, no message is over the limit, only the last has buttons."""
    assert all(utf16(message.text) <= 4096 for message in shown.messages)
    assert [bool(message.markup) for message in shown.messages][:-1] == [False] * (
        len(shown.messages) - 1
    )
    parts = "".join(shown.blocks(message)[0] for message in shown.messages[:-1])
    assert command_text(asked(entry).plan).text in (parts or shown.blocks()[0])
    assert command_text(asked(entry).plan).text[-12:] in shown.last.text
    assert f"{len(entry['command']):,} characters" in shown.last.text
    assert shown.card.digest in shown.last.text


def segments_named(entry: Entry, shown: Rendered) -> None:
    """Each segment's program is listed, and those that policy would not pass come first."""
    argvs = [tuple(part.split()) for part in entry["command"].split(";")]
    verdicts = tuple(
        SegmentVerdict(
            argv,
            f"/usr/bin/{argv[0]}",
            Decision.ASK if argv[0] == "rm" else Decision.ALLOW,
            Reason.NOT_LISTED if argv[0] == "rm" else Reason.ALLOWLISTED,
            "not on the allowlist" if argv[0] == "rm" else "",
        )
        for argv in argvs
    )
    several = render(approval(plan(*argvs), segments=verdicts))
    place = [argv[0] for argv in argvs].index("rm") + 1
    for text in (several.last.text, several.terminal):
        assert (
            f"Why: command {place} of {len(argvs)}: rm is not on main's allowlist"
            in text.replace("\n│ ", "")
        )
        assert f"{place}. rm -rf x (not on the allowlist)" in text.replace("\n│ ", "")
        for name in {argv[0] for argv in argvs}:
            assert f"{name}: /usr/bin/{name}" in text
        assert text.index(f"{place}. rm") < text.rindex("rm: /usr/bin/rm")


def mark_is_ours(entry: Entry, shown: Rendered) -> None:
    """A fake truncation mark is escaped, ours is outside the block."""
    assert "\\u{2026} (truncated" in shown.offered
    assert all("…" not in block for block in shown.blocks())


def empty_is_said(entry: Entry, shown: Rendered) -> None:
    """No empty block; the text says that the command is empty, and it can only be denied."""
    assert "" not in shown.blocks()
    assert "The command is empty" in shown.last.text
    assert "the command is empty" in shown.terminal
    assert shown.labels == ["Deny"]


def one_line_cwd(entry: Entry, shown: Rendered) -> None:
    """The folder is one line; what it forges is not a field."""
    assert any(line.startswith("Folder: /tmp/x") for line in shown.last.text.splitlines())
    assert not any(line.startswith("Command:") for line in shown.last.text.splitlines())
    assert not any(line.startswith("│ Command:") for line in shown.terminal.splitlines())


def folder_is_value(entry: Entry, shown: Rendered) -> None:
    """The folder is escaped by the same function and is in code."""
    assert entry["cwd"] in shown.blocks()


def resolved_folder(entry: Entry, shown: Rendered) -> None:
    """The bound directory, which is the resolved one, is shown."""
    assert f"Folder: {asked(entry).plan.cwd.path}" in shown.last.text


def agent_escaped(entry: Entry, shown: Rendered) -> None:
    """A name outside ASCII is escaped, and the session identifies its owner."""
    assert "m\\u{0430}in" in shown.last.text
    assert "agent:main:main" in shown.last.text


def unnamed_agent(entry: Entry, shown: Rendered) -> None:
    """The prompt says that an empty name is empty, and the identifier is there."""
    assert "(unnamed agent)" in shown.last.text
    assert shown.card.id in shown.last.text


def buttons_are_components(entry: Entry, shown: Rendered) -> None:
    """Buttons exist only as components, bound to the id of the request."""
    assert shown.labels == ["Allow once", "Always allow…", "Deny"]
    assert shown.last.markup is not None
    for button in shown.last.markup.inline_keyboard[0]:
        assert str(button.callback_data).endswith(shown.card.id)


def status_outside(entry: Entry, shown: Rendered) -> None:
    """The result is outside the command's block."""
    assert all("Allowed once by" not in block for block in shown.blocks(shown.final))
    assert shown.final.text.startswith("7K3F9Q · Allowed once by")


def no_description(entry: Entry, shown: Rendered) -> None:
    """What an agent says about a command is nowhere."""
    assert all(entry["description"] not in text for text in shown.texts)


def program_flagged(entry: Entry, shown: Rendered) -> None:
    """A look-alike in the program's name is an escape, and the resolved path is shown."""
    readable = render(approval(plan(tuple(entry["command"].split()))))
    assert "l\\u{0455}" in readable.last.text
    assert "l\\u{0455}: /usr/bin/l\\u{0455}" in readable.last.text


def dashes_flagged(entry: Entry, shown: Rendered) -> None:
    """Dashes that are not options are escapes."""
    assert "\\u{2013}la \\u{2212}a" in shown.offered


def bounds_shown(entry: Entry, shown: Rendered) -> None:
    """The quoting of the vector is in the block."""
    assert {"sp-131": "rm -rf 'a b'", "sp-133": "rm -rf ''"}[entry["id"]] in shown.blocks()


def odd_program(entry: Entry, shown: Rendered) -> None:
    """The resolved path is next to the name, flagged if it is not in a system folder."""
    assert "ls: /tmp/evil/ls; not in a system folder" in shown.last.text
    assert "Sets: PATH" in shown.last.text


def secret_masked(entry: Entry, shown: Rendered) -> None:
    """The secret is nowhere, the mark and the digest are."""
    assert all("sk-live-0123456789abcdef0123" not in text for text in shown.texts)
    assert "[secret: " in shown.last.text
    assert shown.card.digest in shown.last.text
    assert mask(entry["command"]) != entry["command"]


def whole_id(entry: Entry, shown: Rendered) -> None:
    """A button names the whole id of 128 bits; the id is in the prompt."""
    assert len(shown.card.id) == 26
    buttons_are_components(entry, shown)


def own_id(entry: Entry, shown: Rendered) -> None:
    """The same command twice shows two ids, on buttons and in text, and a time."""
    other = render(asked(entry, OTHER_ID))
    assert other.card.code in other.last.text
    assert shown.card.code in shown.last.text
    assert other.last.markup != shown.last.markup
    assert "10:10:00 UTC" in shown.last.text


def no_buttons_at_the_end(entry: Entry, shown: Rendered) -> None:
    """The final state has no buttons (the contract suite presses late, too)."""
    assert shown.final.markup is None


def order_kept(entry: Entry, shown: Rendered) -> None:
    """Right-to-left letters are escapes, so every word stays in reading order."""
    text = shown.blocks()[0]
    last = {"sp-028": "; rm -rf x", "sp-029": " && ls"}[entry["id"]]
    assert text.endswith(last)
