"""Build what people are shown from a plan, and format it as lines; the same on every platform.

::

    card      a question, how it ended, a notice: every text in one is masked
    build     a card from the bound plan
    facts     a card as lines: what an answer is based on, then the details
    summary   what a command does and why a person is asked, in a sentence each
    text      the words in cards: programs, endings, durations, digests
"""
