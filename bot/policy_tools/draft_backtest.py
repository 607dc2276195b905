"""Try a draft of exec-approvals.json on the past while the gateway works.

It is limited in commands and time, reports its progress, and is easy to stop: each backtest has its
own thread, which lets the others run before each command.
"""

import json
import logging
import secrets
import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bot.policy_tools.backtest import Backtest, backtest
from bot.policy_tools.judge import APPROVALS_NAME, Judge
from bot.policy_tools.past_commands import past_commands
from bot.policy_tools.weekly_suggest import Patience
from bot.settings import Settings
from core.errors import BadRequest, SaysoError
from core.store.views.past_commands import PastCommand

_log = logging.getLogger(__name__)
MOST: Final = 20_000
"""The most past commands that a backtest reads, newest first."""
_MOST_AT_ONCE = 2
_MOST_KEPT = 16
_LONGEST_S = 30.0
_BREATH_S = 0.0005
_MODE = 0o600


@dataclass(slots=True)
class DraftBacktest:
    """One backtest: its owner, its progress, its result.

    ``total`` is ``None`` while the commands are read. ``cut``: the time ran out before the last.
    """

    owner: str
    total: int | None = None
    looked: int = 0
    cut: bool = False
    found: Backtest | None = None
    fault: str = ""

    @property
    def ended(self) -> bool:
        """Return whether it is over."""
        return self.found is not None or bool(self.fault)


@dataclass(slots=True)
class DraftBacktests:
    """The backtests of one gateway; the last ones are kept for those who started them."""

    settings: Settings
    patience: Patience = field(default_factory=lambda: Patience(_LONGEST_S, _BREATH_S))
    most: int = MOST
    _backtests: OrderedDict[str, DraftBacktest] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _threads: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(_MOST_AT_ONCE, "backtest")
    )

    def start(self, owner: str, file: dict[str, object], since: str) -> str:
        """Start a backtest and return its id.

        Raises:
            BadRequest: this caller already has one under way, or too many others have.
        """
        with self._lock:
            running = [one for one in self._backtests.values() if not one.ended]
            if len(running) >= _MOST_AT_ONCE or any(one.owner == owner for one in running):
                raise BadRequest("A backtest is under way. Start another when it has ended.")
            key, one = secrets.token_urlsafe(16), DraftBacktest(owner)
            self._backtests[key] = one
            if len(self._backtests) > _MOST_KEPT:
                self._backtests.popitem(last=False)
        self._threads.submit(self._run, one, json.dumps(file), since)
        return key

    def of(self, key: str, owner: str) -> DraftBacktest | None:
        """Return a backtest to its owner; nobody else gets it."""
        one = self._backtests.get(key)
        return one if one is not None and one.owner == owner else None

    def stop(self) -> None:
        """End what is under way, and accept nothing more."""
        self.patience.stopped.set()
        self._threads.shutdown(cancel_futures=True)

    def _run(self, one: DraftBacktest, draft: str, since: str) -> None:
        try:
            one.found = self._found(one, draft, since)
        except SaysoError as failure:
            one.fault = str(failure)
        except Exception as failure:  # noqa: BLE001 - whoever began it must not wait for ever
            _log.exception("the backtest of a draft failed")
            one.fault = f"It failed ({type(failure).__name__}); see the gateway's log."

    def _found(self, one: DraftBacktest, draft: str, since: str) -> Backtest:
        with tempfile.TemporaryDirectory(prefix="sayso-draft-") as folder:
            proposed = Path(folder) / APPROVALS_NAME
            proposed.touch(mode=_MODE)
            proposed.write_text(draft)
            commands = past_commands(self.settings, since, self.most)
            one.total = len(commands)
            judges = [Judge(self.settings, at) for at in (self._present, proposed)]
            cwd = str(Path.home())
            return backtest(self._in_time(one, commands), judges[0], judges[1], cwd)

    @property
    def _present(self) -> Path:
        return self.settings.home / APPROVALS_NAME

    def _in_time(
        self, one: DraftBacktest, commands: tuple[PastCommand, ...]
    ) -> Iterator[PastCommand]:
        """Yield commands until the time is up."""
        until = time.monotonic() + self.patience.longest_s
        for command in commands:
            if self.patience.stopped.wait(self.patience.breath_s) or time.monotonic() > until:
                one.cut = True
                return
            yield command
            one.looked += 1
