"""Serve exec-approvals.json (S1): show it and replace its content.

Its entries let programs run unasked, so replacing it grants rights (docs/decisions/0009).
"""

import asyncio
import json
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from bot.intake.callers import visibility
from bot.intake.callers.caller import Caller
from bot.intake.callers.terminal import Askers
from bot.intake.methods.approvals import READS
from bot.intake.methods.people import RULES, TYPED
from bot.intake.registry.method import Group, handles
from bot.intake.registry.params import AgentParams, Params
from bot.intake.results.answer import safe
from bot.intake.results.rules import FileAnswer, FileChangeAnswer
from core.approvals.file.base_hash import base_hash, replace_recorded
from core.approvals.file.edit import begun
from core.gate.effective_policy import Rulebook
from core.ports import Journal


class FileParams(Params):
    """``exec.approvals.set``: the complete new content of exec-approvals.json (S1 schema)."""

    file: dict[str, object] = Field(
        description="the new content; without `socket` the current one is kept"
    )
    base_hash: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] = Field(
        description="the `hash` that was read; if the file has changed since, nothing is changed"
    )


@dataclass(frozen=True, slots=True)
class ApprovalsFileMethods(Group):
    """The methods about exec-approvals.json; each change is in the journal."""

    rulebook: Rulebook
    journal: Journal
    askers: Askers

    @handles(
        "exec.approvals.get",
        READS,
        "Show exec-approvals.json without its token; with `agent`, only its section.",
        filters=True,
    )
    async def get(self, params: AgentParams, caller: Caller) -> FileAnswer:
        """Return the file; a caller bound to an agent sees only that agent's part of it."""
        file = self.rulebook.file
        found = await asyncio.to_thread(self.rulebook.usage.shown)
        shown = visibility.part_of_file(begun(found), params.agent, caller)
        lint = await asyncio.to_thread(file.lint) if caller.sees_all else ()
        warnings = [safe(one) for one in lint]
        return FileAnswer(file=shown, hash=base_hash(found), warnings=warnings)

    @handles("exec.approvals.set", RULES, "Replace exec-approvals.json.", note=TYPED)
    async def put(self, params: FileParams, caller: Caller) -> FileChangeAnswer:
        """Replace the file, if it has not changed since it was read."""
        why = await self.askers.refusal(caller)
        if why is not None:
            return FileChangeAnswer.of(why, done=False)
        text = json.dumps(params.file, ensure_ascii=False)
        file, base = self.rulebook.file, params.base_hash
        done = await replace_recorded(file, self.journal, text, base, caller.ref)
        return FileChangeAnswer(
            done=True,
            sentence="exec-approvals.json was replaced.",
            warnings=[safe(one) for one in done.warnings],
        )
