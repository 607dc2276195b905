"""Preview what an allow-always would have let run, for the people who are about to give it.

Outside the path of decisions: one bounded reading, judged in a thread. A preview that cannot be
made in time, or at all, is missing and holds nobody up (issue 4, "Grants").
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from core.gate.effective_policy import Rulebook
from core.model.approval import AllowlistEntry, Approval
from core.model.command import ExecPlan
from core.model.decision import Evaluation, Promise
from core.model.identity import AgentId, ApprovalId, SessionKey, TaskId
from core.policy.judge.preview import LOOKED_AT, History, Preview, by_lists
from core.policy.matching.allowlist import Allowlist
from core.store import Store
from core.store.approvals.grants import Grant
from core.store.views.past_commands import recent
from core.text.render import Redacted, join, phrase, redact

_log = logging.getLogger(__name__)
_TIMEOUT_S = 1.5
"""A platform gives a press 3 s (Slack, Discord); the choices must be there by then."""
_SHOWN = 3
_LONGEST = 160
_MISSING = "cannot tell what %s would have let run; shown without that"


@dataclass(frozen=True, slots=True)
class Previews:
    """Preview what people are about to grant, and what they granted."""

    store: Store
    rulebook: Rulebook

    async def of_question(self, approval: Approval) -> Preview | None:
        """Return what always allowing a question would have let run before it was asked."""
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                history = await self._history(approval.plan.agent, approval.id)
                return await self._made(history, approval.plan.agent, approval.evaluation.promise)
        except Exception:  # noqa: BLE001 - logged; the choice must not hang on a statistic
            _log.warning(_MISSING, f"allow-always of {approval.code}", exc_info=True)
            return None

    async def of_grants(self, grants: Sequence[Grant]) -> dict[ApprovalId, Preview]:
        """Return what grants would have let run; those that take too long are left out."""
        found: dict[ApprovalId, Preview] = {}
        histories: dict[AgentId, History] = {}
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                for one in grants:
                    if one.agent not in histories:
                        histories[one.agent] = await self._history(one.agent)
                    history = histories[one.agent]
                    where = one.session, one.task
                    found[one.id] = await self._made(history, one.agent, one.promise, *where)
        except Exception:  # noqa: BLE001 - as above: what holds must still be listed
            _log.warning(_MISSING, "the grants listed", exc_info=True)
        return found

    async def _history(self, agent: AgentId, but: ApprovalId | None = None) -> History:
        commands = await self.store.read(recent, agent, LOOKED_AT, but)
        return History(agent, commands, self.rulebook.home)

    async def _made(
        self,
        history: History,
        agent: AgentId,
        promise: Sequence[Promise],
        session: SessionKey | None = None,
        task: TaskId | None = None,
    ) -> Preview:
        entries = [AllowlistEntry(one.pattern, None, one.argv, one.content) for one in promise]
        own, policy = self.rulebook.allowlist(agent), by_lists(self.rulebook.agent_policy(agent))

        def judge(plan: ExecPlan, allowlist: Allowlist) -> Evaluation:
            return self.rulebook.judge(plan, policy, allowlist)

        return await asyncio.to_thread(partial(history.preview, entries, own, judge, session, task))


def words_of(preview: Preview) -> Redacted:
    """Format a preview: how many of the last commands, and which of them were denied."""
    if not preview.looked:
        return redact("would have matched nothing: this agent has no earlier requests")
    last = "command" if preview.looked == 1 else f"{preview.looked} commands"
    head = phrase(
        "would have matched {} of the last {}", redact(str(preview.matched)), redact(last)
    )
    if not preview.denied:
        return head
    texts = tuple(dict.fromkeys(preview.denied))
    shown = join(", ", tuple(_short(text) for text in texts[:_SHOWN]))
    more = phrase(", …" if len(texts) > _SHOWN else "")
    return phrase(
        "{}, {} of them denied: {}{}", head, redact(str(len(preview.denied))), shown, more
    )


def _short(text: str) -> Redacted:
    shown = redact(text)
    return shown if len(shown.text) <= _LONGEST else Redacted(f"{shown.text[:_LONGEST]}…")
