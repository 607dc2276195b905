"""Build what people are shown from a plan, and format it as lines; the same on every platform.

::

    card      a question, how it ended, a notice: every text in one is masked
    build     a card from the bound plan
    lines     a card as lines: what an answer is based on, then the details
    summary   what a command does and why a person is asked, in a sentence each
    text      the words in cards: programs, endings, durations, digests

What a channel of your own imports (docs/how-to/write-a-channel.md) is importable from here.
"""

from channels.cards.card import Choice, NoticeCard, OutcomeCard, PromptCard
from channels.cards.lines import Fact, details, ending_facts, facts, front

__all__ = [
    "Choice",
    "Fact",
    "NoticeCard",
    "OutcomeCard",
    "PromptCard",
    "details",
    "ending_facts",
    "facts",
    "front",
]
