"""Judge attack lines against profiles, readers and wrappers: none may pass, installed or not."""

from typing import Any

import pytest

from core.model.decision import Decision
from core.model.policy import Trust
from tests.core.policy.corpus_judge import judge, workspace
from tests.support.plans import corpus, listed

__all__ = ["workspace"]

LEAST = {"redteam.json": 424, "attack_lines.json": 3500}


def allowed(entries: list[dict[str, Any]], *, installed: bool) -> list[str]:
    """Return the lines that strict trust lets pass although everything is listed."""
    return [
        entry["command"]
        for entry in entries
        if judge(entry, Trust.STRICT, installed=installed) is Decision.ALLOW
    ]


@pytest.mark.parametrize("installed", [False, True])
@pytest.mark.parametrize("name", LEAST)
def test_no_attack_line_is_allowed(name: str, installed: bool) -> None:
    """With an allowlist of everything not one line passes, whether or not its program is there."""
    entries = corpus(name)
    assert len(entries) >= LEAST[name]
    assert {tuple(entry["allowlist"]) for entry in entries} == {("/**",)}
    assert allowed(entries, installed=installed) == []


def test_classical_trust_lets_attack_lines_through() -> None:
    """Negative control: the check sees allows if arguments are not checked."""
    passed = [
        entry["command"]
        for entry in corpus("redteam.json")
        if judge(entry, Trust.CLASSICAL, installed=True, allowlist=listed("/**")) is Decision.ALLOW
    ]
    assert "xz -t -d x.xz" in passed
    assert len(passed) > 100
