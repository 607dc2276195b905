"""Print what `sayso doctor` finds, for people and for programs."""

import json
import os
import sys
from pathlib import Path

import pytest

from bot.cli.gateway.doctor import summary
from tests.support.gateway_process import ROOT, write_config
from tests.support.product_process import run


def _doctor(home: Path, *options: str) -> tuple[int, list[str]]:
    done = run(
        [sys.executable, "-m", "bot", "doctor", *options],
        cwd=ROOT,
        env={**os.environ, "SAYSO_HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


def test_people_read_lines_and_programs_objects(tmp_path: Path) -> None:
    """One finding each, in the same order; the sum of them only for people."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    write_config(home, None)
    code, lines = _doctor(home)
    coded, objects = _doctor(home, "--json")
    found = [json.loads(line) for line in objects]

    verdicts = [one["verdict"] for one in found]
    assert code == coded == int("fail" in verdicts)
    assert [line.split()[0] for line in lines[:-2] if line[:1].strip()] == verdicts
    assert lines[-2] == ""
    assert str(verdicts.count("ok")) in lines[-1]


@pytest.mark.parametrize(
    ("ok", "warn", "fail", "words"),
    [
        (3, 0, 0, "All 3 checks passed."),
        (3, 1, 0, "3 ok, 1 warning, no failures."),
        (3, 0, 1, "3 ok, 0 warnings, 1 failure."),
        (3, 2, 2, "3 ok, 2 warnings, 2 failures."),
    ],
)
def test_the_last_line_counts(ok: int, warn: int, fail: int, words: str) -> None:
    """One is singular, and none of either is all of them."""
    assert summary({"ok": ok, "warn": warn, "fail": fail}) == words
