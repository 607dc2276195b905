"""Classify the environment changes that a request asks for.

The child's environment is built from nothing elsewhere; here only the requested changes are
judged. Names are taken as they are: no trimming, no normalising, because what is checked must be
what is used (CVE-2026-34426).
"""

import re
from collections.abc import Sequence
from functools import cache, lru_cache

from core.model.command import ExecPlan
from core.model.decision import Decision
from core.programs.profiles.tables import table, words

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_WORD = re.compile(r"[A-Za-z0-9_.,:@+=-]{0,64}")
_ZONE = re.compile(r"(?!.*\.\.)[A-Za-z0-9_+-][A-Za-z0-9_+,./<>-]{0,63}")


@cache
def _safe() -> frozenset[str]:
    return frozenset(words(table("environment"), "safe"))


@cache
def _forbidden() -> frozenset[str]:
    return frozenset(words(table("environment"), "forbidden"))


@cache
def _prefixes() -> tuple[str, ...]:
    return words(table("environment"), "forbidden_prefixes")


@lru_cache(maxsize=4096)
def judge_name(name: str, value: str) -> Decision:
    """Return the verdict on one requested change: harmless, to be asked about, or forbidden."""
    if not _NAME.fullmatch(name) or _CONTROL.search(value):
        return Decision.DENY
    upper = name.upper()
    if upper in _forbidden() or upper.startswith(_prefixes()) or upper.endswith("_PROXY"):
        return Decision.DENY
    if name not in _safe():
        return Decision.ASK
    pattern = _ZONE if name == "TZ" else _WORD
    return Decision.ALLOW if pattern.fullmatch(value) else Decision.ASK


def judge_requested(plan: ExecPlan) -> tuple[Decision, str] | None:
    """Return the strictest verdict on what a request changes, ``None`` if harmless."""
    if not plan.requested_env:
        return None
    values = dict(plan.env)
    return judge_changes([(name, values.get(name, "")) for name in plan.requested_env])


def judge_changes(changes: Sequence[tuple[str, str]]) -> tuple[Decision, str] | None:
    """Return the strictest verdict on some changes with the names behind it, ``None`` if harmless.

    A request's own ``env`` and the assignments of the program ``env`` are judged alike.
    """
    if not changes:
        return None
    judged = [(judge_name(name, value), name) for name, value in changes]
    decision = max(verdict for verdict, _ in judged)
    if decision is Decision.ALLOW:
        return None
    names = ", ".join(repr(name) for verdict, name in judged if verdict is decision)
    what = (
        "may never be set by a request" if decision is Decision.DENY else "is not on the safe list"
    )
    return decision, f"the environment name {names} {what}"
