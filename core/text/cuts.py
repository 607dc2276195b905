"""Leave out what a cut may have spoilt: half a secret does not look like one, so it is not masked.

Output is capped where it is captured, long before anybody knows who will read it. Whoever masks it
for others first leaves out the line that a cut went through, and what is left of a private key.
"""

import re
from typing import Final

CUT: Final = "… (truncated)"
"""The mark at which a cap left output out (S0 "Output caps")."""
_LINE: Final = re.compile(r"[^\r\n]{0,1000}(?:[\r\n]+|\S*)")
"""A line; of a long one its beginning up to a blank, because no secret contains one."""
_KEY_LINES: Final = re.compile(
    r"(?:[ \t]*[A-Za-z0-9+/]{16,}={0,2}(?:\r?\n|\Z))+"
    r"(?:[ \t]*=?[A-Za-z0-9+/]{1,15}={0,2}(?:\r?\n|\Z))?"
)
_BEGIN, _END = "-----BEGIN", "-----END"


def after_cut(text: str) -> str:
    """Return a text whose beginning is missing, from where it can be masked."""
    end = text.find(_END)
    in_key = end >= 0 and _BEGIN not in text[:end]
    rest = _without(_LINE, text[end:] if in_key else text)
    return _without(_KEY_LINES, rest)


def before_cut(text: str) -> str:
    """Return a text whose end is missing without its last word."""
    kept = text.removesuffix(CUT)
    unfinished = "" if kept[-1:].isspace() else kept.rsplit(maxsplit=1)[-1:]
    return f"{kept[: len(kept) - len(''.join(unfinished))]}{CUT}"


def _without(beginning: re.Pattern[str], text: str) -> str:
    found = beginning.match(text)
    return text if found is None else text[found.end() :]
