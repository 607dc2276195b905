"""Format an import for people and for programs: lost denials first, no secrets of the source."""

from collections.abc import Iterator

from bot.counted import counted
from bot.policy_tools.importing.result import ALLOWING, Fate, Imported, Outcome
from bot.policy_tools.importing.write import rules_text
from bot.policy_tools.suggestible import add_command
from bot.settings.home import CONFIG_NAME
from core.text.render import redact

_HEADINGS = {
    Fate.CARRIED: "stricter here than in the source",
    Fate.NARROWER: "narrower here than in the source",
    Fate.DROPPED: "not carried over",
    Fate.IGNORED: "not about commands",
}


def to_json(imported: Imported) -> dict[str, object]:
    """Return everything, as JSON for programs."""
    return {
        "summary": {fate.value: count for fate, count in imported.counts()},
        "rules": [rule.json() for rule in imported.rules],
        "entries": [
            {
                "agent": one.agent,
                "pattern": one.entry.pattern,
                "argv": None if one.entry.argv is None else list(one.entry.argv),
            }
            for one in imported.entries
        ],
        "lines": [_line(one) for one in imported.outcomes],
    }


def _line(one: Outcome) -> dict[str, object]:
    return {
        "file": one.place.file,
        "place": redact(one.place.where).text,
        "text": redact(one.place.text).text,
        "fate": one.fate.value,
        "why": None if one.why is None else redact(one.why).text,
        "rules": len(one.rules) + len(one.entries),
    }


def shown(imported: Imported) -> str:
    """Format an import for a terminal: lost denials, a summary, what to copy, and the rest."""
    parts = [*_lost(imported), *_summary(imported), *_rules(imported), *_entries(imported)]
    for fate, heading in _HEADINGS.items():
        found = [one for one in imported.of(fate) if one.why is not None]
        parts += _listed(found, f"{counted(len(found), 'line')} {heading}:")
    return "\n".join(parts) + "\n"


def summary(imported: Imported) -> str:
    """Return the counts in one line."""
    count = dict(imported.counts())
    allowing = sum(count[fate] for fate in ALLOWING)
    narrowing = count[Fate.CARRIED] + count[Fate.LOST]
    return (
        f"allow: {allowing} ({count[Fate.EXACT]} exact, {count[Fate.NARROWER]} narrower, "
        f"{count[Fate.DROPPED]} dropped); ask or deny: {narrowing} ({count[Fate.CARRIED]} carried, "
        f"{count[Fate.LOST]} lost); not about commands: {count[Fate.IGNORED]}"
    )


def _lost(imported: Imported) -> Iterator[str]:
    found = imported.of(Fate.LOST)
    if found:
        yield f"WARNING: {counted(len(found), 'denial or question', 'denials or questions')} LOST."
        yield "What these lines forbid in the source is not forbidden here. --write refuses."
        yield from _listed(found, "")
        yield ""


def _summary(imported: Imported) -> Iterator[str]:
    yield f"{', '.join(redact(name).text for name in imported.files)}:"
    yield summary(imported)
    yield ""


def _rules(imported: Imported) -> Iterator[str]:
    rules = imported.rules
    yield f"{counted(len(rules), 'rule')} for tools.exec of {CONFIG_NAME}:"
    if rules:
        yield rules_text(rules).rstrip("\n")


def _entries(imported: Imported) -> Iterator[str]:
    if not imported.entries:
        return
    yield ""
    yield f"{counted(len(imported.entries), 'allowlist entry', 'allowlist entries')}:"
    for one in imported.entries:
        yield f"  {redact(add_command(one.agent, one.entry)).text}"


def _listed(outcomes: list[Outcome] | tuple[Outcome, ...], heading: str) -> Iterator[str]:
    if not outcomes:
        return
    if heading:
        yield ""
        yield heading
    for one in outcomes:
        place = f"{one.place.file}, {one.place.where}"
        same = one.place.text == one.place.where
        yield f"  {redact(place if same else f'{place}: {one.place.text}').text}"
        yield f"      {redact(one.why or '').text}"
