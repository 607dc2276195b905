"""Compute plots as numbers: bars of days stacked by outcome, a line of medians.

A template writes them as SVG. Nothing here needs a script, a style attribute or a font's width.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

OUTCOMES = ("allowed", "denied", "expired", "cancelled", "pending")
WIDTH, HEIGHT = 720, 240
LEFT, _RIGHT, _TOP, _BOTTOM = 60, 8, 14, 30
_GAP = 0.25
_TICKS = 4
_LABELS = 6
_STEPS = (1, 2, 5)


@dataclass(frozen=True, slots=True)
class Bar:
    """One piece of a bar."""

    kind: str
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on an axis: its place and its label."""

    at: float
    words: str


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot of days; ``points`` is the attribute of a polyline, ``dots`` are its points."""

    bars: tuple[Bar, ...]
    points: str
    dots: tuple[tuple[float, float], ...]
    rows: tuple[Tick, ...]
    days: tuple[Tick, ...]


def date_of(day: int) -> str:
    """Return a day counted from 1970 as ``24 Nov``."""
    at = datetime.fromtimestamp(day * 86_400, UTC)
    return f"{at.day} {at:%b}"


def filled(days: Sequence[Mapping[str, Any]], last: int, count: int) -> list[Mapping[str, Any]]:
    """Return ``count`` days up to ``last``, those without a prompt as zeros."""
    known = {int(one["day"]): one for one in days}
    none = {**dict.fromkeys(("asked", *OUTCOMES), 0), "medianMs": None}
    return [known.get(day, {**none, "day": day}) for day in range(last - count + 1, last + 1)]


def stacked(days: Sequence[Mapping[str, Any]]) -> Plot:
    """Return bars of how many were asked each day, stacked by outcome."""
    top = _round_up(max((int(one["asked"]) for one in days), default=0))
    bars: list[Bar] = []
    for number, one in enumerate(days):
        left, width = _slot(number, len(days))
        below = 0
        for kind in OUTCOMES:
            if one[kind]:
                y, floor = _y(below + one[kind], top), _y(below, top)
                bars.append(Bar(kind, left, y, width, round(floor - y, 2)))
                below += one[kind]
    return Plot(tuple(bars), "", (), _rows(top, "{:,.0f}"), _days(days))


def medians(days: Sequence[Mapping[str, Any]]) -> Plot:
    """Return a line of the median time to answer, in seconds; days without an answer have none."""
    known = [(number, one["medianMs"]) for number, one in enumerate(days) if one["medianMs"]]
    top = _round_up(max((ms / 1000 for _, ms in known), default=0))
    dots = []
    for number, ms in known:
        left, width = _slot(number, len(days))
        dots.append((round(left + width / 2, 2), _y(ms / 1000, top)))
    points = " ".join(f"{x},{y}" for x, y in dots)
    return Plot((), points, tuple(dots), _rows(top, "{:g} s"), _days(days))


def _slot(number: int, count: int) -> tuple[float, float]:
    step = (WIDTH - LEFT - _RIGHT) / max(1, count)
    return round(LEFT + (number + _GAP / 2) * step, 2), round(step * (1 - _GAP), 2)


def _y(value: float, top: float) -> float:
    return round(HEIGHT - _BOTTOM - value / top * (HEIGHT - _TOP - _BOTTOM), 2)


def _rows(top: float, words: str) -> tuple[Tick, ...]:
    values = (top * step / _TICKS for step in range(_TICKS + 1))
    return tuple(Tick(_y(value, top), words.format(value)) for value in values)


def _days(days: Sequence[Mapping[str, Any]]) -> tuple[Tick, ...]:
    every = max(1, len(days) // _LABELS)
    shown = list(enumerate(days))[len(days) % every :: every] if days else []
    found = []
    for number, one in shown:
        left, width = _slot(number, len(days))
        found.append(Tick(round(left + width / 2, 2), date_of(one["day"])))
    return tuple(found)


def _round_up(value: float) -> float:
    """Return the next round number that divides well into four steps; never zero."""
    size = 1.0
    while True:
        for step in _STEPS:
            if value <= step * size * _TICKS:
                return step * size * _TICKS
        size *= 10
