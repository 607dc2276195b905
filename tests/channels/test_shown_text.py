"""Extract from what was posted the text that people read."""

import json

from channels.shown_text import readable

_BODY = {
    "channel": "C1",
    "attachments": [{"color": "#d33", "text": "Run `ls`?"}],
    "text": {"type": "plain_text", "text": "main asks"},
    "caption": None,
    "components": [{"type": 2, "label": "Allow", "custom_id": "o:7k3f9q"}],
}


def test_only_what_people_read_is_extracted() -> None:
    """Texts and labels at any depth in their order; no kinds, places, colours or presses."""
    posted = json.dumps([{"chat_id": "42", "content": "first"}, _BODY])

    assert readable(posted) == "first\nRun `ls`?\nmain asks\nAllow"


def test_what_is_no_body_stays_as_it_is() -> None:
    """A card as text, and a command that begins as a body does."""
    for text in ("main asks: ls", '[{"text": "cut off"', "[]"):
        assert readable(text) == text
