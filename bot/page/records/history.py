"""Show what was asked and how it ended, one request's story, and the journal's chain."""

import csv
import io
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, get_args
from urllib.parse import urlencode

from starlette.responses import Response, StreamingResponse

from bot.api.http.errors import Fault, FaultCode
from bot.intake.registry.method import Table, invoke
from bot.intake.registry.params import PastState
from bot.page.records.story import Stories
from bot.page.render import Renderer
from bot.page.visit import HEADERS, Visit, page

_FILTERS = ("agent", "session", "state", "by", "grep")
_ROWS = 50
_EXPORT_PAGE = 1_000
_MOST_EXPORTED = 100_000
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""Characters that begin a formula in a spreadsheet; such a cell gets a leading apostrophe."""
_COLUMNS = (
    "id", "code", "atMs", "agent", "session", "task", "command", "source", "state", "by",
    "decision", "terms", "how", "exitCode", "signal", "durationMs",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class HistoryPages:
    """The pages about the past."""

    table: Table
    render: Renderer
    stories: Stories

    async def show(self, visit: Visit) -> Response:
        """List the requests that match the filters, newest first."""
        wanted, before = _wanted(visit)
        raw = {**wanted, **before, "limit": _ROWS + 1}
        found: Any = await invoke(self.table["history.list"], raw, visit.who)
        rows, looked = found["history"], found["lookedBackToMs"]
        older = urlencode({**wanted, "before": rows[_ROWS - 1]["atMs"]}) if rows[_ROWS:] else ""
        text = self.render.text(
            "history.html",
            visit=visit,
            here="history",
            rows=rows[:_ROWS],
            wanted={name: wanted.get(name, "") for name in _FILTERS},
            states=get_args(PastState),
            older=older,
            further=urlencode({**wanted, "before": looked}) if looked is not None else "",
            looked=looked,
            newest=not before,
            export=urlencode(wanted),
        )
        return page(text)

    async def story(self, visit: Visit) -> Response:
        """Show what became of one request, step by step."""
        story = await self.stories.of(visit.path("ref"), visit.who)
        text = self.render.text("story.html", visit=visit, here="history", story=story)
        return page(text)

    async def export(self, visit: Visit) -> Response:
        """Send the requests that match the filters as a file, 100,000 rows at most."""
        wanted, _ = _wanted(visit)
        kind = wanted.pop("format", "jsonl")
        if kind not in {"jsonl", "csv"}:
            raise Fault(FaultCode.BAD_REQUEST, "The format is jsonl or csv.")
        headers = {
            **HEADERS,
            "Content-Disposition": f'attachment; filename="sayso-history.{kind}"',
        }
        first, looked = await self._page(visit, wanted, None)
        lines = self._lines(visit, wanted, first, looked, _csv if kind == "csv" else _jsonl)
        media = "text/csv" if kind == "csv" else "application/x-ndjson"
        return StreamingResponse(lines, headers=headers, media_type=media)

    async def verify(self, visit: Visit) -> Response:
        """Check the journal's chain and show the result."""
        await visit.form()
        found: Any = await invoke(self.table["audit.verify"], {}, visit.who)
        return page(self.render.text("verified.html", visit=visit, here="history", found=found))

    async def _page(
        self, visit: Visit, wanted: Mapping[str, object], before: int | None
    ) -> tuple[list[dict[str, Any]], int | None]:
        """Return rows, and the time from which older ones continue."""
        raw = {**wanted, "limit": _EXPORT_PAGE}
        if before is not None:
            raw["beforeMs"] = before
        found: Any = await invoke(self.table["history.list"], raw, visit.who)
        rows: list[dict[str, Any]] = found["history"]
        full = rows[-1]["atMs"] if len(rows) == _EXPORT_PAGE else None
        return rows, found["lookedBackToMs"] if full is None else full

    async def _lines(
        self,
        visit: Visit,
        wanted: Mapping[str, object],
        rows: list[dict[str, Any]],
        before: int | None,
        worded: "_Worded",
    ) -> AsyncIterator[str]:
        yield worded.head
        sent = 0
        while sent < _MOST_EXPORTED:
            yield "".join(map(worded, rows))
            sent += len(rows)
            if before is None:
                return
            rows, before = await self._page(visit, wanted, before)


@dataclass(frozen=True, slots=True)
class _Worded:
    """How a row is written, and what precedes the first one."""

    kind: str
    head: str = ""

    def __call__(self, row: Mapping[str, Any]) -> str:
        """Return the line for one row."""
        if self.kind == "jsonl":
            return json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n"
        return _row([_cell(row.get(name)) for name in _COLUMNS])


def _row(cells: list[str]) -> str:
    line = io.StringIO()
    csv.writer(line).writerow(cells)
    return line.getvalue()


def _cell(value: object) -> str:
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(_FORMULA) else text


_jsonl = _Worded("jsonl")
_csv = _Worded("csv", _row(list(_COLUMNS)))


def _wanted(visit: Visit) -> tuple[dict[str, Any], dict[str, int]]:
    """Return the filters that an address sets, and the time from which it goes back.

    Raises:
        Fault: it has an unknown parameter.
    """
    query = {name: text.strip() for name, text in visit.query().items() if text.strip()}
    before = query.pop("before", "")
    if not before:
        return query, {}
    if not before.isascii() or not before.isdecimal() or len(before) > 15:  # noqa: PLR2004 - epoch ms
        raise Fault(FaultCode.BAD_REQUEST, "The address is malformed.")
    return query, {"beforeMs": int(before)}
