"""Check everything that accompanies a policy: rule examples, profiles, expectations."""

from collections.abc import Mapping
from pathlib import Path

from bot.counted import counted
from bot.policy_tools.expectations import (
    Checked,
    Failure,
    examples_in,
    failures_in,
    rules_of,
)
from bot.policy_tools.judge import APPROVALS_NAME, Judge, present_settings, settings_from
from bot.settings import InvalidConfig, home_folder
from core.errors import BadRequest
from core.policy.rules.compiled import BadRule
from core.policy.rules.self_test import broken_examples
from core.programs.carriers import profiled
from core.programs.safe_bins import profiled as safe_bins

_MOST_SHOWN = 20
"""Failures printed for people; a file of something else has one in each line."""


def check(
    expectations: Path | None, config: Path | None, environ: Mapping[str, str], cwd: str
) -> Checked:
    """Check the configuration's rules, the shipped profiles, and a file of expectations.

    ``config`` replaces the configuration in effect.

    Raises:
        SaysoError: the configuration or a file cannot be used at all.
    """
    lines = None if expectations is None else _lines(expectations)
    profiles = len(profiled()) + len(safe_bins())
    failures = [Failure(place, what) for place, what in _shipped()]
    try:
        chosen = present_settings(environ) if config is None else settings_from(config, environ)
    except InvalidConfig as error:
        if not isinstance(error.__cause__, BadRule):
            raise
        failures += [Failure(one.place, f"{one.key}: {one.message}") for one in error.problems]
        return Checked(0, 0, profiles, 0, tuple(failures))
    rules = rules_of(chosen)
    count = 0
    if lines is not None:
        judge = Judge(chosen, home_folder(None, environ) / APPROVALS_NAME)
        count, missed = failures_in(lines, str(expectations), judge, cwd)
        failures += missed
    return Checked(len(rules), examples_in(rules), profiles, count, tuple(failures))


def _shipped() -> list[tuple[str, str]]:
    found = (line.partition(": ") for line in broken_examples())
    return [(place, what) for place, _, what in found]


def _lines(path: Path) -> list[bytes]:
    try:
        return path.read_bytes().splitlines()
    except OSError as error:
        raise BadRequest(f"{path} cannot be read: {error.strerror}. Name a file.") from error


def to_json(checked: Checked) -> dict[str, object]:
    """Return what was checked, as JSON for programs."""
    return {
        "ok": not checked.failures,
        "rules": checked.rules,
        "examples": checked.examples,
        "profiles": checked.profiles,
        "expectations": checked.expectations,
        "failures": [{"place": one.place, "what": one.what} for one in checked.failures],
    }


def shown(checked: Checked) -> str:
    """Format what was checked for a terminal: each failure, then the counts."""
    lines = [f"WRONG  {one.place}: {one.what}" for one in checked.failures[:_MOST_SHOWN]]
    more = len(checked.failures) - len(lines)
    lines += [f"… and {more} more; --json lists all"] if more > 0 else []
    counts = (
        f"{counted(checked.rules, 'rule')} with {counted(checked.examples, 'example')}, "
        f"{counted(checked.profiles, 'shipped profile')}, "
        f"{counted(checked.expectations, 'expectation')}"
    )
    wrong = f"{len(checked.failures)} wrong" if checked.failures else "all right"
    return "\n".join([*lines, f"{counts}: {wrong}"]) + "\n"
