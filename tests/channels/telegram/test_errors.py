"""Tell what Telegram's refusals mean."""

import pytest
from telegram.error import BadRequest, Forbidden, TelegramError

from channels.telegram.errors import already_final


@pytest.mark.parametrize(
    ("error", "as_edit", "as_reply"),
    [
        (BadRequest("Message is not modified: it is the same"), True, True),
        (BadRequest("Message to edit not found"), True, False),
        (BadRequest("Message can't be edited"), True, False),
        (BadRequest("MESSAGE_ID_INVALID"), True, False),
        (BadRequest("Chat not found"), False, False),
        (Forbidden("Message is not modified"), False, False),
    ],
    ids=str,
)
def test_which_failed_edits_leave_nothing_to_do(
    error: TelegramError, *, as_edit: bool, as_reply: bool
) -> None:
    """A prompt that is gone needs no edit; a reply in the place of a gone message is lost."""
    assert already_final(error) is as_edit
    assert already_final(error, gone=False) is as_reply
