"""Format what the gateway lists: approvals, people, grants, tokens, events."""

import re
import sys
import time
from collections.abc import Iterable, Mapping

from bot.cli.call import YELLOW, paint
from bot.cli.parser import columns
from bot.counted import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Row = Mapping[str, Any]

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_LEAST_ROOM = 30
_PIPED = 240
_CUT = " …"
_UNIT = re.compile(r"\\u\{[0-9A-F]+\}(?:\\u\{\u00d7[0-9]+\})?|\[secret:[^\]]*\]|.")
"""What is never split: an escape with its repeat count, a mask, a character."""
_CODE = 6
"""Characters of an id that form its code; a test compares it with ``core.model.identity``."""


def pending(rows: "list[Row]") -> str:
    """Format the questions that wait, each with its folder, programs and reason."""
    if not rows:
        return "Nothing is waiting.\n"
    return "\n".join((*map(_question, rows), f"{how_to_answer('CODE')}\n"))


def how_to_answer(code: str) -> str:
    """Return what to type to answer a question."""
    return f"Answer: sayso approve {code} allow-once, or sayso deny {code}"


def time_left(row: "Row") -> str:
    """Return how long a question can still be answered, as `sayso run` counts it down."""
    left = max(0, round(row["deadlineMs"] / 1000 - time.time()))
    return f"{left // 60}:{left % 60:02} left"


def _question(row: "Row") -> str:
    first = (row.get("behind") or "")[:_CODE].upper()
    task = f"  task {row['task']}" if row.get("task") else ""
    waits = f"  waits for {first}, an identical request" if first else ""
    head = f"{paint(row['code'], YELLOW)}  {row['agent']}{task}  {time_left(row)}{waits}\n"
    facts = {"in": row["cwd"], "program": ", ".join(programs(row)), "why": row["why"]}
    facts["also"] = "\n".join(row.get("also", ()))
    return f"{head}{indented(row['command'])}{table(facts, '      ')}{warning(row)}"


def programs(row: "Row") -> list[str]:
    """Return the programs of an approval by their real paths, without duplicates."""
    return list(dict.fromkeys(filter(None, row["resolvedPaths"])))


def warning(row: "Row") -> str:
    """Format warnings about a command in addition to its text; empty if there are none."""
    return f"      warning: {row['warning']}\n" if row.get("warning") else ""


def table(facts: "Mapping[str, object]", margin: str = "") -> str:
    """Format facts in two columns; empty ones are left out."""
    known = {name: str(value) for name, value in facts.items() if value not in (None, "", [])}
    width = max(map(len, known), default=0)
    left = len(margin) + width + 2
    below = "\n" + " " * left
    return "".join(
        f"{margin}{name:<{width}}  {below.join(folded(value, left))}\n"
        for name, value in known.items()
    )


def folded(text: str, left: int) -> list[str]:
    """Return the lines of a text that starts at column ``left`` of the terminal, folded there.

    Continuation lines are indented by two more columns, so that they are not taken for new ones.
    """
    room = columns() - left if sys.stdout.isatty() else 0
    return [part for line in text.splitlines() for part in _folded(line, room)]


def _folded(line: str, room: int) -> list[str]:
    if room < _LEAST_ROOM or len(_COLOUR.sub("", line)) <= room:
        return [line]
    from textwrap import wrap  # noqa: PLC0415 - for long lines in a terminal only

    parts = wrap(line, room, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    return parts or [line]


def indented(text: str) -> str:
    """Return a text with four spaces before each line."""
    return "".join(f"    {line}\n" for line in text.splitlines())


def one_line(text: str, left: int) -> str:
    """Return a command on one line that starts at column ``left`` of the terminal.

    What does not fit is replaced with a mark, never within an escape or a mask; if no terminal
    shows it, up to ``_PIPED`` columns stay.
    """
    first, *more = text.splitlines() or [""]
    room = max(columns() if sys.stdout.isatty() else _PIPED, _LEAST_ROOM) - left
    if not more and len(first) <= room and first.isascii():
        return first
    taken, width, fits = "", 0, 0
    for unit in _UNIT.findall(first):
        width += sum(map(_columns, unit))
        if width > room:
            return f"{taken[:fits]}{_CUT}"
        taken += unit
        if width + len(_CUT) <= room:
            fits = len(taken)
    return f"{taken[:fits]}{_CUT}" if more else taken


def _columns(character: str) -> int:
    from unicodedata import combining, east_asian_width  # noqa: PLC0415 - other text than ASCII

    return 0 if combining(character) else 2 if east_asian_width(character) in "WF" else 1


def people(rows: "list[Row]") -> str:
    """Format each person, with one line per account."""
    lines = [line for row in rows for line in _person(row)]
    return "".join(lines) or "No people yet. Add one with `sayso people add NAME`.\n"


def _person(row: "Row") -> "Iterable[str]":
    yield f"{row['id']}{_revoked(row)}\n"
    for account in row["accounts"]:
        name = f"  {account['name']}" if account["name"] else ""
        yield f"  {account['channel']}:{account['account']}{name}{_revoked(account)}\n"


def _revoked(row: "Row") -> str:
    return "  (revoked)" if row["revoked"] else ""


def passkeys(rows: "list[Row]") -> str:
    """Format each passkey: its owner, its name, when it was created and last used."""
    none = "No passkeys yet. Sign in with `sayso login`, then add one on the page Sessions.\n"
    return "".join(map(_passkey, rows)) or none


def _passkey(row: "Row") -> str:
    used = f"last used {moment(row['usedMs'])}" if row["usedMs"] else "never used"
    made = f"made {moment(row['createdMs'])}"
    return f"{row['id']}  {row['person']}  {row['name']}  {made}  {used}\n"


def grants(rows: "list[Row]") -> str:
    """Format each grant with its limits."""
    return "".join(map(_grant, rows)) or "No active grants.\n"


def _grant(row: "Row") -> str:
    what, by = ", ".join(row["promise"]), row["name"] or row["by"]
    preview = f"        {row['preview']['sentence']}\n" if row["preview"] else ""
    return f"{row['code']}  {row['agent']}  {what}  {_limits(row)}by {by}\n{preview}"


def _limits(row: "Row") -> str:
    parts = []
    if row["expiresMs"] is not None:
        parts.append(f"until {moment(row['expiresMs'])}")
    if row["usesLeft"] is not None:
        parts.append(counted(row["usesLeft"], "run") + " left")
    if row["session"] is not None:
        parts.append(f"session {row['session']}")
    if row["task"] is not None:
        unused = "" if row["expiresMs"] is not None else " until unused for a day"
        parts.append(f"task {row['task']}{unused}")
    return "".join(f"{part}, " for part in parts)


def rules(rows: "list[Row]") -> str:
    """Format each rule: what it decides, about what, for whom and where it is written."""
    return "".join(map(_rule, rows)) or "No rules: see tools.exec.rules.\n"


def _rule(row: "Row") -> str:
    where = f"  in {row['within']}" if row["within"] else ""
    tier = "" if row["tier"] == "routine" else f"  {row['tier']}"
    why = f"       {row['reason']}\n" if row["reason"] else ""
    head = f"{row['decide']:5}  {row['by']} {row['pattern']}{where}{tier}"
    return f"{head}  ({row['place']})\n{why}"


def tokens(rows: "list[Row]") -> str:
    """Format each token: its owner, its scopes, its expiry, when it was last used."""
    return "".join(map(_token, rows)) or "No tokens yet. Create one with `sayso token create`.\n"


def _token(row: "Row") -> str:
    whose = "".join(f"  {kind} {row[kind]}" for kind in ("agent", "person") if row[kind])
    until = f"until {moment(row['expiresMs'])}" if row["expiresMs"] else "until revoked"
    state = until if row["state"] == "live" else f"({row['state']})"
    used = f"last used {moment(row['usedMs'])}" if row["usedMs"] else "never used"
    return f"{row['id']}  {row['name']}  {' '.join(row['scopes'])}{whose}  {state}  {used}\n"


def moment(epoch_ms: int) -> str:
    """Return a time in UTC, to the second."""
    return time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime(epoch_ms / 1000))
