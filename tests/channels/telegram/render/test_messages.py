"""Turn cards into messages that the platform takes and that hide nothing."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channels.cards.build import LONGEST_SHOWN, build_outcome, build_prompt
from channels.telegram.render.messages import Message, render_outcome, render_prompt
from core.model.command import PinnedDirectory
from tests.channels.telegram.render.accepted import accepted
from tests.contracts.channel_examples import approval, plan, resolved
from tests.emulators.telegram_rules import utf16

_HOSTILE = st.text(st.characters(exclude_categories=()), max_size=200)


@settings(max_examples=60)
@given(_HOSTILE, _HOSTILE, _HOSTILE, st.integers(min_value=1, max_value=400))
def test_any_prompt_is_accepted(command: str, folder: str, why: str, times: int) -> None:
    """Whatever is in the fields, and however long, no message breaks a limit."""
    of = replace(plan(text=command * times), cwd=PinnedDirectory(folder * 20, 1, 2))
    asked = approval(of, why=why * 20, promise=(why, folder))

    accepted(render_prompt(build_prompt(asked)))
    accepted((render_outcome(build_outcome(replace(asked, resolution=resolved(note=why)))),))


@pytest.mark.parametrize(
    ("size", "messages", "files"), [(1_000, 1, 0), (5_000, 3, 0), (14_000, 5, 0), (50_000, 2, 1)]
)
def test_what_does_not_fit_goes_along_whole(size: int, messages: int, files: int) -> None:
    """As further messages, or as a file; the buttons come last and only there."""
    command = "".join(f"{number:07d} " for number in range(size // 8)) + "; rm -rf x"
    rendered = render_prompt(build_prompt(approval(plan(text=command))))

    assert len(rendered) == messages
    assert sum(message.file is not None for message in rendered) == files
    assert [bool(message.markup) for message in rendered] == [False] * (messages - 1) + [True]
    assert command in _whole(rendered)
    assert "rm -rf x" in rendered[-1].text


def test_a_file_holds_the_command_and_every_line_below_it() -> None:
    """Nothing that the card had to shorten is missing from the file."""
    asked = approval(plan(text="x" * 50_000, cwd="/srv/" + "d" * 500), why="w" * 500)
    file, card = render_prompt(build_prompt(asked))

    assert file.file is not None
    whole = file.file.decode()
    assert "/srv/" + "d" * 500 in whole
    assert "w" * 500 in whole
    assert "[…" in card.text


def test_long_fields_alone_take_the_same_way() -> None:
    """A short command in a very long folder is offered whole, too."""
    rendered = render_prompt(build_prompt(approval(plan(("ls",), cwd="/" + "d" * 4_000))))

    assert "d" * 3_000 in rendered[0].text
    assert rendered[-1].markup is not None
    assert utf16(rendered[-1].text) < 4096


def test_a_command_beyond_the_longest_can_only_be_denied() -> None:
    """It is not sent, and there is one button."""
    (message,) = render_prompt(build_prompt(approval(plan(text="x" * (LONGEST_SHOWN + 1)))))

    assert message.markup is not None
    assert [button.text for button in message.markup.inline_keyboard[0]] == ["Deny"]
    assert "it can only be denied" in message.text


def test_in_a_group_the_typed_command_names_the_bot() -> None:
    """A bot in privacy mode sees no bare command there."""
    (private,) = render_prompt(build_prompt(approval()))
    (group,) = render_prompt(build_prompt(approval()), "sayso_test_bot")

    assert "Or send /approve 7K3F9Q allow-once|allow-always|deny" in private.text
    assert "Or send /approve@sayso_test_bot 7K3F9Q allow-once" in group.text


def _whole(messages: tuple[Message, ...]) -> str:
    if messages[0].file is not None:
        return messages[0].file.decode()
    if len(messages) == 1:
        return messages[0].text
    return "".join(
        message.text.partition("\n")[2].rpartition("\nEnd of part")[0] for message in messages[:-1]
    )
