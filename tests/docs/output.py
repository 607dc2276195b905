"""Compare what a command printed with what its page shows."""

import re

_WILD = re.compile(r"…|\b(?=[A-Z0-9]*\d)(?=[A-Z0-9]*[A-Z])[A-Z0-9]{6}\b|\d+")
_NAMED = {"…": r".*", "code": r"[0-9A-Z]{6}", "number": r"\d+"}


def pattern(line: str) -> str:
    """Return a pattern for a line: ``…`` is any text, a number any number, a code any code."""
    parts, end = [], 0
    for found in _WILD.finditer(line):
        parts.append(re.escape(line[end : found.start()]))
        word = found[0]
        parts.append(_NAMED["…" if word == "…" else "number" if word.isdigit() else "code"])
        end = found.end()
    return "".join(parts) + re.escape(line[end:])


def differences(shown: tuple[str, ...], printed: str) -> list[str]:
    """Return the shown lines that were not printed.

    The lines are all there are, in order; with a line ``…`` among them others may appear anywhere
    between.
    """
    lines = [line.rstrip() for line in printed.splitlines() if line.strip()]
    wanted = [one.rstrip() for one in shown if one.strip() != "…"]
    if len(wanted) < len(shown):
        return [one for one in wanted if not any(map(re.compile(pattern(one)).fullmatch, lines))]
    if len(wanted) != len(lines):
        return [f"{len(wanted)} lines are shown, and {len(lines)} were printed"]
    both = zip(wanted, lines, strict=True)
    return [one for one, line in both if not re.fullmatch(pattern(one), line)]
