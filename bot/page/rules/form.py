"""Read the form of the page: what its reader saw, and what they want."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bot.api.http.errors import Fault, FaultCode
from bot.page.rules.draft import BULK, SETTINGS, Edit
from core.ipc.strict_json import read_object

_REMOVE = re.compile(r"remove-([0-9a-f]{16})")
_MOST_ADDED = 200
UNSET: Mapping[str, str] = dict.fromkeys(SETTINGS, "")


@dataclass(frozen=True, slots=True)
class Form:
    """What a form says: whose file and which scope, what its reader saw, and what they want."""

    node: str
    scope: str
    base: str
    settings_seen: Mapping[str, str]
    keys_seen: frozenset[str]
    seen: str
    edit: Edit

    @classmethod
    def of(cls, form: Mapping[str, str]) -> "Form":
        """Read a form.

        Raises:
            Fault: it has values that none of our forms has.
        """
        settings, keys = _seen(form)
        return cls(
            node=form.get("node", ""),
            scope=form.get("agent", ""),
            base=form.get("base", ""),
            settings_seen=settings,
            keys_seen=keys,
            seen=form.get("seen", ""),
            edit=_edit(form, keys),
        )


def _edit(form: Mapping[str, str], keys: frozenset[str]) -> Edit:
    settings = {name: form.get(name, "") for name in SETTINGS}
    bulk = form.get("bulk", "")
    if any(word and word not in SETTINGS[name] for name, word in settings.items()):
        raise Fault(FaultCode.BAD_REQUEST, "A setting has a value that it cannot have.")
    if bulk and bulk not in BULK:
        raise Fault(FaultCode.BAD_REQUEST, "There is no such kind of entries to remove.")
    removed = frozenset(match[1] for name in form if (match := _REMOVE.fullmatch(name)))
    added = tuple(line.strip() for line in form.get("add", "").splitlines() if line.strip())
    if len(added) > _MOST_ADDED:
        raise Fault(FaultCode.BAD_REQUEST, f"Add at most {_MOST_ADDED} patterns at a time.")
    return Edit(settings, removed, added, bulk, keys)


def _seen(form: Mapping[str, str]) -> tuple[Mapping[str, str], frozenset[str]]:
    """Return what the reader of a form saw; a form that was tampered with saw nothing."""
    try:
        found: Any = read_object(form.get("seen", "").encode())
        settings = {name: str(found["settings"][name]) for name in SETTINGS}
        return settings, frozenset(str(one) for one in found["keys"])
    except (ValueError, KeyError, TypeError):
        return dict(UNSET), frozenset()
