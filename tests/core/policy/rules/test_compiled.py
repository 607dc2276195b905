"""Compile what a configuration says about the options of its own programs."""

from typing import Any

from core.model.decision import Decision
from core.policy.judge.evaluate import evaluate
from core.policy.rules.compiled import compiled
from core.settings import CoreSettings
from tests.core.policy.configured_rules import HOME, rule
from tests.support.plans import LISTED, command, listed, plan_of
from tests.support.tables import rows


@rows(
    "taken, value, decision",
    [
        ("<INT>", "3", Decision.ALLOW),
        ("<INT>", "x", Decision.ASK),
        (["<INT>"], "3", Decision.ALLOW),
        (["<INT>", "all"], "all", Decision.ALLOW),
        (["<INT>", "all"], "x", Decision.ASK),
        ("all", "all", Decision.ALLOW),
        ("all", "a", Decision.ASK),
    ],
)
def test_an_option_takes_one_element_or_any_of_several(
    taken: str | list[str], value: str, decision: Decision
) -> None:
    """A single element is written without a list, and is not the letters of its text."""
    section: dict[str, Any] = {
        "rules": [rule("allow", "pytest", "<OPTS:tests>")],
        "optionSets": {"tests": {"values": {"--maxfail": taken}}},
    }
    settings = CoreSettings.model_validate({"tools": {"exec": section}})
    provisions = compiled(settings, HOME).everyone
    plan = plan_of(command("pytest", "--maxfail", value))

    assert evaluate(plan, LISTED, listed(), provisions=provisions).decision is decision
