"""Apply every rule of tests/corpus/prompts.json to what Telegram and the terminal show."""

import json
from collections.abc import Callable
from pathlib import Path

from tests.channels.prompt_checks import (
    Entry,
    agent_escaped,
    asked,
    bounds_shown,
    buttons_are_components,
    dashes_flagged,
    empty_is_said,
    fits,
    folder_is_value,
    inert,
    mark_is_ours,
    no_buttons_at_the_end,
    no_description,
    nothing_hidden,
    odd_program,
    one_line_cwd,
    order_kept,
    own_id,
    program_flagged,
    resolved_folder,
    secret_masked,
    segments_named,
    status_outside,
    unchanged,
    unnamed_agent,
    whole_id,
)
from tests.channels.rendered import Rendered, render
from tests.support.hidden_characters import hidden
from tests.support.tables import rows

ENTRIES: list[Entry] = json.loads(
    (Path(__file__).parent.parent / "corpus" / "prompts.json").read_text()
)
BY_ID = {entry["id"]: entry for entry in ENTRIES}


Check = Callable[[Entry, Rendered], None]
_ESCAPES = (
    *("001", "006", "009", "010", "012", "014", "015", "017", "018", "020", "022", "023", "024"),
    *("025", "027", "041", "042", "043", "046", "047", "049", "051", "052", "053", "054", "055"),
    *("057", "138"),
)
_INERT = (
    *("059", "060", "062", "064", "066", "067", "068", "069", "071", "074", "075", "077", "081"),
    *("082", "085", "087", "088", "091", "092", "093", "096", "098", "101", "102", "113"),
)
RULES: dict[str, tuple[Check, ...]] = {
    **{f"sp-{number}": (unchanged,) for number in _ESCAPES},
    **{f"sp-{number}": (inert, unchanged) for number in _INERT},
    "sp-028": (order_kept,),
    "sp-029": (order_kept,),
    "sp-032": (unchanged,),
    "sp-034": (fits,),
    "sp-036": (fits,),
    "sp-038": (mark_is_ours,),
    "sp-039": (segments_named,),
    "sp-040": (segments_named, fits),
    "sp-045": (empty_is_said,),
    "sp-105": (one_line_cwd,),
    "sp-106": (folder_is_value,),
    "sp-109": (resolved_folder,),
    "sp-112": (agent_escaped,),
    "sp-114": (unnamed_agent,),
    "sp-117": (buttons_are_components,),
    "sp-118": (status_outside,),
    "sp-121": (no_description,),
    "sp-122": (program_flagged,),
    "sp-126": (dashes_flagged,),
    "sp-131": (bounds_shown,),
    "sp-133": (bounds_shown,),
    "sp-134": (odd_program,),
    "sp-142": (secret_masked,),
    "sp-143": (whole_id,),
    "sp-144": (own_id,),
    "sp-145": (no_buttons_at_the_end,),
}


def test_every_rule_has_a_check() -> None:
    """No entry of the corpus is unchecked."""
    assert RULES.keys() == BY_ID.keys()
    assert len(BY_ID) == len(ENTRIES)


@rows("entry", ENTRIES)
def test_rule(entry: Entry) -> None:
    """What the entry requires is met on both surfaces, and nothing hidden is raw."""
    shown = render(asked(entry))

    nothing_hidden(entry, shown)
    for check in RULES[entry["id"]]:
        check(entry, shown)


@rows("number", [*_ESCAPES, "028", "032"])
def test_the_checker_sees_a_missing_guard(number: str) -> None:
    """Negative control: the raw command fails the check that the rendered one passes."""
    entry = BY_ID[f"sp-{number}"]

    assert any(hidden(letter) for letter in entry["command"])
