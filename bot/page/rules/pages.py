"""Show exec-approvals.json of the gateway or a node, save what a form says, and try it on the past.

The file is read and replaced by the methods; a save names the hash of what was read, so what
somebody else has saved in the meantime is never overwritten: it is shown next to what was wanted.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from starlette.responses import Response

from bot.api.http.errors import Fault, FaultCode
from bot.page.render import Renderer
from bot.page.rules.backtest import StartedBacktests
from bot.page.rules.draft import (
    BULK,
    SETTINGS,
    Clash,
    Edit,
    Part,
    agents_of,
    changed,
    clashes,
    in_bulk,
    merged,
    part_of,
    seen_text,
)
from bot.page.rules.form import UNSET, Form
from bot.page.rules.target import GATEWAY, Target, Targets
from bot.page.visit import Visit, data, elsewhere, page
from core.errors import ApprovalsFileError, BadRequest, Conflict, HostUnavailable, SaysoError
from core.model.access import Scope

_PATH = "/exec-approvals"


@dataclass(frozen=True, slots=True)
class Tried:
    """A command that was tried: what would be decided about it."""

    command: str
    cwd: str
    answer: Mapping[str, Any] | None = None
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Unsaved:
    """Changes of a form that are not saved, and why; ``strong`` if they could not be."""

    why: str
    edit: Edit
    clashes: tuple[Clash, ...] = ()
    came: tuple[str, ...] = ()
    went: int = 0
    form: Form | None = None
    """The form whose base still counts; ``None`` if its reader is shown the current file."""


@dataclass(frozen=True, slots=True)
class RulesPage:
    """What one page shows in addition to the file."""

    target: Target
    scope: str
    tried: Tried | None = None
    unsaved: Unsaved | None = None
    backtest: Mapping[str, Any] | None = None
    backtest_id: str = ""
    saved: str = ""


@dataclass(frozen=True, slots=True)
class RulesPages:
    """The page of exec-approvals.json."""

    targets: Targets
    tries: StartedBacktests
    render: Renderer
    home: str

    async def show(self, visit: Visit) -> Response:
        """Show one scope, and what would be decided about a tried command."""
        query = visit.query()
        target = await self.targets.meant(query.get("node", ""), visit.who)
        shown = RulesPage(target, query.get("agent", "").strip(), saved=query.get("saved", ""))
        return await self._page(visit, replace(shown, tried=await self._tried(visit, query, shown)))

    async def save(self, visit: Visit) -> Response:
        """Save what the form says, if the file has not changed since it was read; or try it out."""
        fields = await visit.form()
        form = Form.of(fields)
        target = await self.targets.meant(form.node, visit.who)
        shown = RulesPage(target, form.scope)
        file = await self.targets.file(target, visit.who)
        if file["fault"]:
            unsaved = Unsaved(f"Nothing was changed. {file['fault']}", form.edit, form=form)
            return await self._page(visit, replace(shown, unsaved=unsaved), 503)
        try:
            draft = changed(file["file"], form.scope, form.edit)
            if fields.get("do") == "backtest":
                return await self._begin(visit, form, draft)
            # If the file has changed by now, the method refuses: it also compares with the base.
            done = await self.targets.replace(target, draft, form.base, visit.who)
        except Conflict:
            return await self._conflict(visit, shown, form)
        except (BadRequest, ApprovalsFileError, HostUnavailable) as wrong:
            unsaved = Unsaved(str(wrong), form.edit, form=form)
            return await self._page(visit, replace(shown, unsaved=unsaved), 422)
        if not done["done"]:
            raise Fault(FaultCode.FORBIDDEN, done["sentence"])
        return elsewhere(f"{_PATH}?{_query(shown, saved='yes')}")

    async def backtest(self, visit: Visit) -> Response:
        """Show a backtest's progress or, once it has ended, its result next to its form."""
        key = visit.path("id")
        found = await self.tries.progress(key, visit.who)
        if visit.wants_json:
            return data({name: found[name] for name in ("ended", "looked", "total")})
        form = self.tries.form(key, visit.who)
        if form is None:
            raise Fault(FaultCode.NOT_FOUND, "That draft is not kept any more. Try it again.")
        unsaved = Unsaved("This is a draft. Nothing is saved yet.", form.edit, form=form)
        shown = RulesPage(GATEWAY, form.scope, None, unsaved, found, key)
        return await self._page(visit, shown)

    async def _begin(self, visit: Visit, form: Form, draft: dict[str, Any]) -> Response:
        if form.node:
            raise Fault(
                FaultCode.BAD_REQUEST,
                "Only this gateway's file is tried on the past: a node judges by its own programs.",
            )
        key = await self.tries.start(form, draft, visit.who)
        return elsewhere(f"{_PATH}/backtest/{key}")

    async def _conflict(self, visit: Visit, shown: RulesPage, form: Form) -> Response:
        """Show what was read, what the file says now and what was wanted; saving again decides."""
        file = await self.targets.file(shown.target, visit.who)
        now, edit, was = part_of(file["file"], shown.scope), form.edit, form.settings_seen
        was = {**UNSET, **was}
        gone = edit.removed | in_bulk(now, edit)
        unsaved = Unsaved(
            "Somebody else saved in the meantime, so nothing was changed. Check, and save again.",
            Edit(merged(was, now.settings, edit.settings), gone, edit.added),
            clashes(was, now.settings, edit.settings),
            tuple(one.words for one in now.entries if one.key not in form.keys_seen),
            len(form.keys_seen - now.keys),
        )
        return await self._page(visit, replace(shown, unsaved=unsaved), 409)

    async def _page(self, visit: Visit, shown: RulesPage, status: int = 200) -> Response:
        file = await self.targets.file(shown.target, visit.who)
        scope, unsaved = shown.scope, shown.unsaved
        part = part_of(file["file"], scope)
        edit = unsaved.edit if unsaved else Edit(part.settings)
        form = unsaved.form if unsaved else None
        text = self.render.text(
            "rules.html",
            visit=visit,
            here="rules",
            shown=shown,
            scope=scope,
            targets=await self.targets.listed(visit.who),
            agents=sorted({*agents_of(file["file"]), *([scope] if scope else [])}),
            part=part,
            seen=form.seen if form else seen_text(part),
            base=form.base if form else file["hash"],
            fault=file["fault"],
            warnings=file["warnings"],
            fields=_fields(edit.settings, part, scope),
            edit=edit,
            bulk=BULK,
            unsaved=unsaved,
            may=visit.who.may(Scope.ADMIN),
            tried=shown.tried or Tried("", self.home),
            link=lambda **more: f"{_PATH}?{_query(shown, **more)}",
        )
        return page(text, status)

    async def _tried(
        self, visit: Visit, query: Mapping[str, str], shown: RulesPage
    ) -> Tried | None:
        command, cwd = query.get("try", ""), query.get("cwd", "").strip() or self.home
        if not command.strip():
            return None
        try:
            found = await self.targets.explain(shown.target, command, cwd, shown.scope, visit.who)
        except SaysoError as wrong:
            return Tried(command, cwd, fault=str(wrong))
        return Tried(command, cwd, found)


def _query(shown: RulesPage, **more: str) -> str:
    """Return the query of an address of this target and scope, with some parameters replaced."""
    fields = {"node": shown.target.id, "agent": shown.scope, **more}
    return urlencode({name: text for name, text in fields.items() if text})


def _fields(
    wanted: Mapping[str, str], part: Part, scope: str
) -> list[tuple[str, str, tuple[str, ...], str]]:
    """Return each setting: its name, value and possible values, and what an empty one means."""
    unset = "use default" if scope else "use tools.exec"
    none = {"autoAllowSkills": "use default" if scope else "use default (off)"}
    return [
        (name, wanted.get(name, part.settings[name]), words, none.get(name, unset))
        for name, words in SETTINGS.items()
    ]
