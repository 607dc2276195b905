"""Match a command by its words joined by blanks, for rules that ask or deny."""

from collections.abc import Sequence
from dataclasses import dataclass

from core.policy.matching.path_patterns import segment_fits

_MORE = " *"


@dataclass(frozen=True, slots=True)
class WordsMatch:
    """Any command whose words, joined by single blanks, fit a pattern.

    ``*`` is any run of characters, over as many words as it takes, and ``?`` one. A `` *`` at the
    end also matches no further word.
    """

    pattern: str

    def on(self, argv: Sequence[str], names: Sequence[str]) -> bool:
        """Return whether a command fits under one of the names that its program is known by."""
        patterns = [self.pattern]
        if self.pattern.endswith(_MORE):
            patterns.append(self.pattern.removesuffix(_MORE))
        arguments = argv[1:]
        return any(
            segment_fits(pattern, " ".join((name, *arguments)))
            for name in names
            for pattern in patterns
        )
