"""Check that names, messages and pages use the terms of the trade, and that references resolve."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.project.tracked import ROOT, files, modules

_FORBIDDEN = re.compile(
    r"(?<![a-z])(mends?|mended|tells? (?:of|how|that)|told|wish(?:es)?|standing|stands|aside|knobs?"
    r"|hangs? up|hung up|lost sight|in peace|nobody is there|lays? out|by itself alone"
    r"|(?:for|to|by|from|than|let) who|(?:come|comes|came) about)(?![a-z])",
    re.IGNORECASE,
)
_NOWHERE = re.compile(
    r"\bDESIGN\b|\bresearch[/:]|\bresearch notes\b|\bseeds/|\bbypasses\.md\b|(?<![\w}])/lockdown\b"
)
_SPECIFICATION = re.compile(r"\bS[0-4]\b")
"""How code and decisions cite the specifications, which docs/glossary.md names once."""
_CITING = ("bot/", "channels/", "core/", "docs/decisions/", "docs/glossary.md")

_ALLOWED = {
    "core/planning/code/words/interpreters.py": "wish",
    "core/programs/data/carriers.toml": "wish",
    "core/programs/data/wrappers.toml": "wish",
    "core/store/migrations/versions/rev_0010.py": "wish",
    "docs/explanation/prompts.md": "stands",
    "README.md": "stands",
}
"""The name of a program, of a renamed column, and a word in its plain sense."""
_VAGUE_VERBS = {"Go", "Hear", "Know", "Lay", "Say", "Shape", "Stand", "Tell", "Word"}
"""No reader searches for these; Return, Define, Format, Render, Check, Limit say what is done."""
_PRODUCT = ("bot", "channels", "core")
_PAGES = (".md", ".yml", ".json5")


def _read() -> Iterator[Path]:
    for path in files():
        place = path.relative_to(ROOT)
        if (place.parts[0] in _PRODUCT and path.suffix in {".py", ".toml"}) or (
            path.suffix in _PAGES and place.parts[0] != "tests" and place.name != "CHANGELOG.md"
        ):
            yield place


def found(pattern: re.Pattern[str], place: Path, text: str) -> list[str]:
    """Return where a pattern is in a text: file, line and what was found."""
    return [
        f"{place}:{number}: {match.group()}"
        for number, line in enumerate(text.splitlines(), 1)
        for match in pattern.finditer(line)
        if _ALLOWED.get(str(place)) != match.group().lower()
    ]


def _faults(pattern: re.Pattern[str]) -> list[str]:
    return [
        fault
        for place in _read()
        for fault in found(pattern, place, (ROOT / place).read_text(encoding="utf-8"))
    ]


def test_no_word_is_quaint() -> None:
    """Write what git, gh, docker and the Python documentation would write."""
    assert _faults(_FORBIDDEN) == []


def test_no_reference_leads_out_of_the_repository() -> None:
    """Neither the product nor a page names a document that a reader cannot open or look up."""
    assert _faults(_NOWHERE) == []
    assert [fault for fault in _faults(_SPECIFICATION) if not fault.startswith(_CITING)] == []


def test_a_module_begins_with_a_verb_that_says_what_it_does() -> None:
    """The first word of its docstring is what a reader would search for."""
    begins = {
        str(path.relative_to(ROOT)): (ast.get_docstring(ast.parse(path.read_text())) or "")
        for path in modules()
    }
    assert [name for name, text in begins.items() if text.partition(" ")[0] in _VAGUE_VERBS] == []


def test_a_quaint_word_and_a_lost_reference_are_found() -> None:
    """The patterns find them in a text, by line; words that merely contain one pass."""
    place = Path("core/made.py")
    text = "misunderstands, outstanding\nMend it: it is told aside (DESIGN §1, S4)\n"

    assert found(_FORBIDDEN, place, text) == [
        "core/made.py:2: Mend",
        "core/made.py:2: told",
        "core/made.py:2: aside",
    ]
    assert found(_NOWHERE, place, text) == ["core/made.py:2: DESIGN"]
    assert found(_SPECIFICATION, place, text) == ["core/made.py:2: S4"]
