"""Check what buttons carry."""

import pytest

from channels import button_payload
from channels.commands import Approve, Choose, Command, Details, Help, Malformed, Stop, Tail
from core.model.approval import HALF_HOUR, THIS_SESSION, THIS_TASK, ApprovalReply, GrantTerms
from tests.contracts.channel_examples import ID
from tests.support.tables import rows

COMMANDS: tuple[Command, ...] = (
    *(Approve(ID, reply) for reply in ApprovalReply),
    Approve(ID, ApprovalReply.ALLOW_ALWAYS, terms=HALF_HOUR),
    Approve(ID, ApprovalReply.ALLOW_ALWAYS, terms=THIS_SESSION),
    Approve(ID, ApprovalReply.ALLOW_ALWAYS, terms=THIS_TASK),
    Choose(ID),
    Details(ID),
    Tail(ID),
    Stop(ID),
)


@rows("command", COMMANDS)
def test_a_press_means_what_its_button_meant(command: Command) -> None:
    """Every button's command is recovered from its press, in at most 58 bytes."""
    press = button_payload.encode(command)

    assert command == button_payload.decode(press)
    assert len(press.encode()) <= 58


def test_presses_differ() -> None:
    """No two buttons of a prompt carry the same press."""
    assert len(COMMANDS) == len({button_payload.encode(command) for command in COMMANDS})


@pytest.mark.parametrize("press", ["", "q:" + ID, f"o:{ID}x", "o:short", f"m0:{ID}", f"m:{ID}"])
def test_a_foreign_press_is_told(press: str) -> None:
    """What this version did not make changes nothing and says so."""
    assert Malformed(button_payload.FOREIGN) == button_payload.decode(press)


@pytest.mark.parametrize(
    "command",
    [
        Help(),
        *(
            Approve(ID, ApprovalReply.ALLOW_ALWAYS, terms=terms)
            for terms in (
                GrantTerms(uses=3),
                GrantTerms(for_ms=1_800_000, uses=3),
                GrantTerms(for_ms=1_800_000, session_only=True),
                GrantTerms(for_ms=90_000),
                GrantTerms(for_ms=30_000),
            )
        ),
    ],
    ids=str,
)
def test_what_has_no_button_is_refused(command: Command) -> None:
    """A command that a press cannot carry raises, so that no button lies."""
    with pytest.raises(ValueError, match=r"button"):
        button_payload.encode(command)
