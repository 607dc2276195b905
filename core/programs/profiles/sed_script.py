"""Read a sed script, to establish that it only prints: it writes no file and runs no program.

This is a positive reading of GNU sed 4.9 and POSIX sed: ``e``, ``r``, ``R``, ``w``, ``W``, the
``e`` and ``w`` flags of ``s``, text (``a``, ``i``, ``c``) and anything else that is not listed are
unknown (CVE-2025-64755, GTFOBins sed).
"""

import re
from typing import Final

_TEXT: Final = r"(?:[^{d}\\\n\[]|\\[^\n]|\[\^?\]?(?:\[:[a-z]+:\]|[^{d}\\\]\n\[])*\])*"
"""A regular expression up to its delimiter. A bracket that contains the delimiter, a backslash or
a lone bracket is read differently by different seds, so it is unknown."""


def _substitution(delimiter: str) -> str:
    d = re.escape(delimiter)
    regex, text = _TEXT.replace("{d}", d), rf"(?:[^{d}\\\n]|\\[^\n])*"
    return rf"s{d}{regex}{d}{text}{d}[gpiIM0-9]{{0,8}}"


_DELIMITERS: Final = "/|,#:@!%~+_"
_ADDRESS: Final = rf"(?:[0-9]+(?:~[0-9]+)?|\$|/{_TEXT.replace('{d}', '/')}/[IM]?)"
_COMMAND: Final = "|".join(
    (
        r"[pPdDgGhHxnN=qQz]",
        r"[lqQL][ ]?[0-9]*",
        r"[bt][ ]?[A-Za-z0-9_]*",
        *(_substitution(one) for one in _DELIMITERS),
        rf"y/{_TEXT.replace('{d}', '/')}/(?:[^/\\\n]|\\[^\n])*/",
    )
)
_HEAD: Final = rf"(?:{_ADDRESS}(?:,[ ]?(?:{_ADDRESS}|[+~][0-9]+))?[ ]*(?:![ ]*)?)?"
_STEP: Final = re.compile(
    rf"[ \t\n;}}]*(?::[A-Za-z0-9_]+(?=[;\n]|$)|{_HEAD}(?:\{{|(?:{_COMMAND})[ \t]*(?=[;\n}}]|$)))"
)
_TAIL: Final = re.compile(r"[ \t\n;}]*")
_LIMIT: Final = 2000


def sed_problem(script: str) -> str | None:
    """Return what in a script is not known to be harmless; ``None`` if all of it is."""
    if len(script) > _LIMIT or "\0" in script:
        return "the script is too long to be judged"
    place = 0
    while not _TAIL.fullmatch(script, place):
        step = _STEP.match(script, place)
        if step is None:
            return f"sed script: {script[place : place + 20]!r} is not known to be harmless"
        place = step.end()
    return None
