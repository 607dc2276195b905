"""Expire entries that have not been used for long (``approvals.exec.allowAlwaysIdle``).

exec-approvals.json stays as people wrote it; such an entry is only not counted. Its time runs from
its last use, or from when a gateway first saw it, whichever is later. The latter is kept in
exec-approvals.seen.json under the entry's id, so that removing and adding it starts over. Losing
that file, or a wall clock that is set back, lets entries count for longer, never more than is
written in exec-approvals.json.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from core.approvals.file.document import AgentApprovals
from core.approvals.file.usage import Usage
from core.files.state_file import StateFile
from core.model.approval import AllowlistEntry
from core.model.identity import AgentId

_DAY_MS = 86_400_000
_LOOK_AGAIN_MS = 60_000
"""Entries that expire one after another are checked once a minute, not one by one."""
Agents = Mapping[AgentId, AgentApprovals]


class _File(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")
    agents: dict[str, dict[str, int]]


def _wall_ms() -> int:
    return round(time.time() * 1000)


@dataclass(frozen=True, slots=True)
class Sorted:
    """An agent's entries: those that count until ``until_ms`` at least, and those that are idle.

    ``idle`` holds the epoch ms since which an entry was not used.
    """

    counted: tuple[AllowlistEntry, ...]
    idle: tuple[tuple[AllowlistEntry, int], ...] = ()
    until_ms: int | None = None


@dataclass(slots=True)
class Idle:
    """What is idle: unused for ``after_ms``; ``None`` never is. ``path`` is the seen file's.

    ``now_ms`` returns epoch ms. Without ``writes`` the file is only read.
    """

    usage: Usage
    path: Path | None = None
    after_ms: int | None = None
    now_ms: Callable[[], int] = _wall_ms
    writes: bool = True
    _seen: dict[str, dict[str, int]] | None = field(default=None, init=False)

    @classmethod
    def of(cls, home: Path, usage: Usage, days: int | None) -> "Idle":
        """Return it for the files of one home; ``days`` as configured."""
        after_ms = None if days is None else days * _DAY_MS
        return cls(usage, home / "exec-approvals.seen.json", after_ms)

    def see(self, agents: Agents) -> None:
        """Remember when each entry was first seen, and forget those that are gone."""
        if self.after_ms is None:
            return
        known, now = self._known(), self.now_ms()
        seen: dict[str, dict[str, int]] = {
            agent: {_key(one): known.get(agent, {}).get(_key(one), now) for one in part.allowlist}
            for agent, part in agents.items()
            if part.allowlist
        }
        if seen != known:
            self._keep(seen)

    def renew(self, agent: AgentId, entry: AllowlistEntry) -> None:
        """Restart an entry's time: a person confirmed that it should count."""
        if self.after_ms is not None:
            known = self._known()
            self._keep({**known, agent: {**known.get(agent, {}), _key(entry): self.now_ms()}})

    def sort(self, agent: AgentId, entries: Iterable[AllowlistEntry]) -> Sorted:
        """Split an agent's entries into those that count and those that are idle; write nothing."""
        if self.after_ms is None:
            return Sorted(tuple(entries))
        now, last = self.now_ms(), self._last(agent)
        ages = [(one, last(one)) for one in entries]
        counted = [(one, at) for one, at in ages if now - at < self.after_ms]
        soonest = min((at + self.after_ms for _, at in counted), default=None)
        return Sorted(
            tuple(one for one, _ in counted),
            tuple((one, at) for one, at in ages if now - at >= self.after_ms),
            None if soonest is None else max(soonest, now + _LOOK_AGAIN_MS),
        )

    def lint(self, agents: Agents) -> tuple[str, ...]:
        """Return a sentence for each entry that is idle."""
        return tuple(
            f"agents.{agent}.allowlist {describe_idle(one, at)}"
            for agent, part in agents.items()
            for one, at in self.sort(agent, part.allowlist).idle
        )

    def _last(self, agent: AgentId) -> Callable[[AllowlistEntry], int]:
        uses, seen, now = self.usage.read(), self._known().get(agent, {}), self.now_ms()

        def last(entry: AllowlistEntry) -> int:
            first = seen.get(_key(entry))
            if first is None:
                return now  # the gateway sees it for the first time when it judges next
            used = uses.get((agent, entry.words))
            return first if used is None else max(first, used.at_ms)

        return last

    def _known(self) -> dict[str, dict[str, int]]:
        if self._seen is None:
            self._seen = self._read()
        return self._seen

    def _read(self) -> dict[str, dict[str, int]]:
        found = None if self.path is None else StateFile(self.path, _File).read()
        return {} if found is None else found.agents

    def _keep(self, seen: dict[str, dict[str, int]]) -> None:
        self._seen = seen
        if self.path is not None and self.writes:
            StateFile(self.path, _File).write({"agents": seen})


def describe_idle(entry: AllowlistEntry, since_ms: int) -> str:
    """Format the sentence that an entry is idle, and what to do."""
    day = time.strftime("%Y-%m-%d", time.gmtime(since_ms / 1000))
    return (
        f"{entry.words!r} has not been used since {day} (approvals.exec.allowAlwaysIdle) and does "
        "not count; remove it, or remove and add it again."
    )


def _key(entry: AllowlistEntry) -> str:
    return entry.id or entry.words
