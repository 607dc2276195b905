"""Keep a growing message one message on each platform, whatever an agent says."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from channels.cards.card import NoticeCard
from channels.discord.render import messages as discord
from channels.slack.render import messages as slack
from channels.telegram.render import messages as telegram
from core.text.render import Redacted
from tests.support.tables import rows

ROOM = 300
TEXTS = {
    "words": "A word after the other. " * 900,
    "lines": "line\n" * 4_000,
    "fences": "```python\nprint()\n```\n" * 900,
    "backticks": "`" * 9_000,
    "keys": "\U0001f511" * 9_000,
    "entities": "<&>" * 4_000,
    "escapes": "\\u{202E}" * 2_000,
}
Pieces = Callable[[Redacted, int], tuple[Redacted, ...]]
Render = Callable[[NoticeCard], Sequence[Any]]
PLATFORMS: dict[str, tuple[Pieces, Render]] = {
    "discord": (discord.pieces, discord.render_notice),
    "slack": (slack.pieces, slack.render_notice),
    "telegram": (telegram.pieces, telegram.render_notice),
}


@rows("kind", TEXTS)
@pytest.mark.parametrize("platform", PLATFORMS)
def test_each_piece_is_one_message_below_a_line_of_ours(platform: str, kind: str) -> None:
    """And nothing is lost: the pieces are the text, as the platform shows it."""
    pieces, render = PLATFORMS[platform]
    text = TEXTS[kind]
    found = pieces(Redacted(text), ROOM)
    head = "x" * (ROOM - 1)

    assert len(found) > 1
    for piece in found:
        assert len(render(NoticeCard(Redacted(f"{head}\n{piece}")))) == 1
    shown = "".join(piece.text for piece in found)
    assert shown in {text, text.replace("```", "\\u{0060}" * 3)}
    # The control: all of it does not fit a single message.
    made = render(NoticeCard(Redacted(f"{head}\n{text}")))
    assert len(made) > 1 or getattr(made[0], "file", None) is not None
