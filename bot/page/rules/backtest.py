"""Try a draft on the last 30 days: start it, show its progress, then its result by its form."""

import re
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, Final

from bot.intake.callers.caller import Caller
from bot.intake.registry.method import Table, invoke
from bot.page.rules.form import Form

SPAN: Final = "30d"
_MOST_KEPT = 64
_ID = re.compile(r"[A-Za-z0-9_-]{22}")


@dataclass(frozen=True, slots=True)
class StartedBacktests:
    """The backtests that forms started, each with its form, so that it may be saved afterwards."""

    table: Table
    _forms: OrderedDict[str, tuple[str, Form]] = field(default_factory=OrderedDict)

    async def start(self, form: Form, draft: dict[str, Any], caller: Caller) -> str:
        """Start a backtest and return its id.

        Raises:
            SaysoError: one is under way.
        """
        raw: dict[str, object] = {"file": draft, "since": SPAN}
        started: Any = await invoke(self.table["policy.backtest.start"], raw, caller)
        self._forms[started["id"]] = (caller.ref, form)
        if len(self._forms) > _MOST_KEPT:
            self._forms.popitem(last=False)
        return str(started["id"])

    async def progress(self, key: str, caller: Caller) -> dict[str, Any]:
        """Return a backtest's progress and result.

        Raises:
            NotFound: this caller has none of this id.
        """
        raw: dict[str, object] = {"id": key if _ID.fullmatch(key) else "none"}
        found: Any = await invoke(self.table["policy.backtest.get"], raw, caller)
        return dict(found)

    def form(self, key: str, caller: Caller) -> Form | None:
        """Return the form that started a backtest, ``None`` if it is no longer kept."""
        owner, form = self._forms.get(key, ("", None))
        return form if owner == caller.ref else None
