"""Expand braces for the second reader, from left to right (bash manual, Brace Expansion).

Shares nothing with the tree reader's. What comes out is text that is still quoted.
"""

from string import ascii_letters, digits

_MOST = 100
_PLAIN = frozenset(f"{ascii_letters}{digits}_/:@%+-.")
_LONGEST_NUMBER = 4


def spread(token: str) -> list[str]:
    """Return what a word with brace lists becomes; nothing where that is not certain."""
    unquoted = _outside_quotes(token)
    at = unquoted.find("{")
    if at < 0:
        return [] if "}" in unquoted else [token]
    if unquoted.count("{") > _MOST:
        return []
    close = token.find("}", at)
    choices = _choices(token[at + 1 : close]) if close >= 0 else []
    rests = spread(token[close + 1 :]) if choices else []
    if not rests or "}" in unquoted[:at] or len(choices) * len(rests) > _MOST:
        return []
    return [token[:at] + choice + rest for choice in choices for rest in rests]


def _outside_quotes(token: str) -> str:
    """Blank out what is quoted, so that each character keeps its place."""
    kept = []
    quote = ""
    at = 0
    while at < len(token):
        mark = token[at]
        if mark == "\\" and quote != "'":
            kept.append("  ")
            at += 2
            continue
        if mark in "'\"" and quote in {"", mark}:
            quote = "" if quote else mark
            mark = " "
        kept.append(" " if quote else mark)
        at += 1
    return "".join(kept)


def _choices(body: str) -> list[str]:
    """Return the items between the commas of a list, or the numbers of a range."""
    first, dots, last = body.partition("..")
    if "," in body:
        return [] if dots or not _PLAIN.issuperset(body.replace(",", "")) else body.split(",")
    if not dots or not _is_number(first) or not _is_number(last):
        return []
    width = max((len(end) for end in (first, last) if end[0] == "0" and end != "0"), default=0)
    if width and len(first) != len(last):
        return []
    start, stop = int(first), int(last)
    if abs(stop - start) >= _MOST:
        return []
    numbers = range(start, stop + 1) if start <= stop else range(start, stop - 1, -1)
    return [str(number).rjust(width, "0") for number in numbers]


def _is_number(text: str) -> bool:
    return 0 < len(text) <= _LONGEST_NUMBER and text.isascii() and text.isdigit()
