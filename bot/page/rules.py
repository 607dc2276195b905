"""Edit exec-approvals.json: the card "Exec approvals" of S1, for this gateway.

The file is read and replaced by the methods; a save names the hash of what was read, so what
somebody else has saved meanwhile is never overwritten: it is shown beside what was wanted.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from starlette.responses import Response

from bot.api.http.errors import Fault, FaultCode
from bot.intake.registry.method import Table, invoke
from bot.page.render import Renderer
from bot.page.rules_draft import (
    DEFAULTS,
    SETTINGS,
    Clash,
    Edit,
    Part,
    agents_of,
    changed,
    clashes,
    merged,
    part_of,
    seen_text,
)
from bot.page.visit import Visit, elsewhere, page
from core.errors import ApprovalsFileError, BadRequest, Conflict, SaysoError
from core.model.access import Scope

_PATH = "/exec-approvals"
_REMOVE = re.compile(r"remove-([0-9a-f]{16})")
_MOST_ADDED = 200
_UNSET: Mapping[str, str] = dict.fromkeys(SETTINGS, "")


@dataclass(frozen=True, slots=True)
class Tried:
    """A command that was tried: what would be decided about it."""

    command: str
    cwd: str
    answer: Mapping[str, Any] | None = None
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Unsaved:
    """What a form wanted that could not be saved, and why."""

    why: str
    edit: Edit
    clashes: tuple[Clash, ...] = ()
    came: tuple[str, ...] = ()
    went: int = 0


@dataclass(frozen=True, slots=True)
class RulesPages:
    """The page of exec-approvals.json."""

    table: Table
    render: Renderer
    home: str

    async def show(self, visit: Visit) -> Response:
        """Show one scope, and what a tried command would come to."""
        query = visit.query()
        scope = query.get("agent", DEFAULTS).strip()
        tried = await self._tried(visit, query, scope)
        return await self._page(visit, scope, tried=tried, saved=query.get("saved", ""))

    async def save(self, visit: Visit) -> Response:
        """Save what the form says, if the file is still the one that was read."""
        form = await visit.form()
        scope, base = form.get("agent", ""), form.get("base", "")
        edit, seen = _edit(form), _seen(form)
        try:
            file = await self._file(visit)
            # Where it is another file by now, the method refuses: it compares with the base, too.
            raw = {"file": changed(file["file"], scope, edit), "baseHash": base}
            done: Any = await invoke(self.table["exec.approvals.set"], raw, visit.who)
        except Conflict:
            return await self._conflict(visit, scope, edit, seen)
        except (BadRequest, ApprovalsFileError) as wrong:
            return await self._page(visit, scope, unsaved=Unsaved(str(wrong), edit), status=422)
        if not done["done"]:
            raise Fault(FaultCode.FORBIDDEN, done["sentence"])
        return elsewhere(f"{_PATH}?{urlencode({'agent': scope, 'saved': 'yes'})}")

    async def _conflict(
        self, visit: Visit, scope: str, edit: Edit, seen: Mapping[str, Any]
    ) -> Response:
        """Show what was read, what is there now and what was wanted; saving again settles it."""
        now = part_of((await self._file(visit))["file"], scope)
        was = {**_UNSET, **seen["settings"]}
        rows = clashes(was, now.settings, edit.settings)
        kept = Edit(merged(was, now.settings, edit.settings), edit.removed, edit.added)
        came = tuple(one.words for one in now.entries if one.key not in seen["keys"])
        went = len(set(seen["keys"]) - now.keys)
        why = "Somebody else saved meanwhile, so nothing was changed. Check, and save again."
        unsaved = Unsaved(why, kept, rows, came, went)
        return await self._page(visit, scope, unsaved=unsaved, status=409)

    async def _page(
        self,
        visit: Visit,
        scope: str,
        *,
        tried: Tried | None = None,
        unsaved: Unsaved | None = None,
        saved: str = "",
        status: int = 200,
    ) -> Response:
        file = await self._file(visit)
        part = part_of(file["file"], scope)
        edit = unsaved.edit if unsaved else Edit(part.settings)
        text = self.render.text(
            "rules.html",
            visit=visit,
            here="rules",
            scope=scope,
            agents=sorted({*agents_of(file["file"]), *([scope] if scope else [])}),
            part=part,
            seen=seen_text(part),
            base=file["hash"],
            warnings=file["warnings"],
            fields=_fields(edit.settings, part, scope),
            edit=edit,
            unsaved=unsaved,
            saved=saved,
            may=visit.who.may(Scope.ADMIN),
            tried=tried or Tried("", self.home),
        )
        return page(text, status)

    async def _file(self, visit: Visit) -> dict[str, Any]:
        found: Any = await invoke(self.table["exec.approvals.get"], {}, visit.who)
        return dict(found)

    async def _tried(self, visit: Visit, query: Mapping[str, str], scope: str) -> Tried | None:
        command, cwd = query.get("try", ""), query.get("cwd", "").strip() or self.home
        if not command.strip():
            return None
        raw: dict[str, object] = {"command": command, "cwd": cwd}
        if scope:
            raw["agent"] = scope
        try:
            found: Any = await invoke(self.table["policy.explain"], raw, visit.who)
        except SaysoError as wrong:
            return Tried(command, cwd, fault=str(wrong))
        return Tried(command, cwd, found)


def _fields(
    wanted: Mapping[str, str], part: Part, scope: str
) -> list[tuple[str, str, tuple[str, ...], str]]:
    """Return each setting: its name, what is chosen, what may be, and what nothing means."""
    unset = "use default" if scope else "use tools.exec"
    none = {"autoAllowSkills": "use default" if scope else "off"}
    return [
        (name, wanted.get(name, part.settings[name]), words, none.get(name, unset))
        for name, words in SETTINGS.items()
    ]


def _edit(form: Mapping[str, str]) -> Edit:
    """Read a form.

    Raises:
        Fault: it has values that no form of ours has.
    """
    settings = {name: form.get(name, "") for name in SETTINGS}
    if any(word and word not in SETTINGS[name] for name, word in settings.items()):
        raise Fault(FaultCode.BAD_REQUEST, "A setting has a value that it cannot have.")
    removed = frozenset(match[1] for name in form if (match := _REMOVE.fullmatch(name)))
    added = tuple(line.strip() for line in form.get("add", "").splitlines() if line.strip())
    if len(added) > _MOST_ADDED:
        raise Fault(FaultCode.BAD_REQUEST, f"Add at most {_MOST_ADDED} patterns at a time.")
    return Edit(settings, removed, added)


def _seen(form: Mapping[str, str]) -> dict[str, Any]:
    """Return what the reader of a form saw; a form that was tampered with saw nothing."""
    try:
        found = json.loads(form.get("seen", ""))
        settings = {name: str(found["settings"][name]) for name in SETTINGS}
        return {"settings": settings, "keys": [str(one) for one in found["keys"]]}
    except (ValueError, KeyError, TypeError):
        return {"settings": dict(_UNSET), "keys": []}
