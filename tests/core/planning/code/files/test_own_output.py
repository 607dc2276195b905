"""Let a program read what it made itself for its next start, and nothing that others made."""

from pathlib import Path

import pytest

from core.planning.planner import Planner
from core.planning.verify import recheck
from tests.support.runs import planned, request, script


@pytest.mark.parametrize(
    ("line", "path", "drifts"),
    [
        ("terraform plan -out=p && terraform apply p", "p", False),
        ("terraform plan -out p && terraform show p && terraform apply p", "p", False),
        ("terraform plan -out=./p && timeout 9 terraform apply p", "p", False),
        ("terraform -chdir=sub plan -out=p && terraform -chdir=sub apply p", "sub/p", False),
        ("terraform plan -out=../p && cd .. && terraform apply p", "../p", False),
        ("terraform plan -out=q && terraform apply p", "p", True),
        ("terraform plan && terraform apply p", "p", True),
        ("terraform plan -out=p && cp evil p && terraform apply p", "p", True),
        ("cp evil p && terraform apply p", "p", True),
        ("tofu plan -out=p && terraform apply p", "p", True),
        ("other -out=x.js && other -r x.js", "x.js", False),
        ("mocha -out=x.js && mocha -r x.js", "x.js", True),
    ],
)
def test_what_it_wrote_itself(tmp_path: Path, line: str, path: str, *, drifts: bool) -> None:
    """`terraform apply p` reads the plan that the command before it wrote."""
    folder = tmp_path / "w"
    (folder / "sub").mkdir(parents=True)
    for name in ("terraform", "tofu", "mocha", "other"):
        script(tmp_path / name, f"#!/bin/sh\n: {name}\n")
    wish = request(line, cwd=folder)
    plan = planned(wish, Planner((str(tmp_path), "/usr/bin")))
    (folder / path).touch()

    found = recheck(plan, slice(len(plan.commands) - 1, len(plan.commands))).why

    assert ("did not exist when this was asked" in found) is drifts, found
