import subprocess
import sys
import time

import pytest

from core.policy.rules import self_test
from core.policy.rules.self_test import broken_examples
from core.programs.carriers import profiled
from core.programs.profiles.tables import Table, section


def test_in_file_examples_hold() -> None:
    """Check that each shipped profile names its source and passes its own file's examples."""
    assert broken_examples() == ()


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"accept": ["--delete-all"]}, "should be harmless"),
        ({"refuse": ["--version"]}, "should be refused"),
        ({"source": ""}, "no source"),
        ({"refuse": []}, "no examples"),
    ],
)
def test_a_wrong_example_is_found(
    monkeypatch: pytest.MonkeyPatch, change: dict[str, object], line: str
) -> None:
    """Negative control: an example that fails is named with its file."""
    honest = section

    def changed(holder: Table, key: str) -> Table:
        found = honest(holder, key)
        return {**found, **change} if key == "sqlite3" else found

    monkeypatch.setattr(self_test, "section", changed)
    assert [one for one in broken_examples() if line in one and "sqlite3" in one]


def test_the_tables_load_quickly_and_only_when_judging() -> None:
    """Importing reads no table; the first judgement reads the index and one family."""
    code = """
import time
from core.programs.carriers import carrier_problem
from core.programs.profiles.tables import table
assert table.cache_info().currsize == 0
started = time.process_time()
carrier_problem("/usr/bin/git", ["status"])
spent = time.process_time() - started
assert table.cache_info().currsize == 2, table.cache_info()
print(spent)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False
    )
    print(f"\nfirst judgement: {float(done.stdout or 0) * 1000:.1f} ms")
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 0.25


def test_judging_stays_quick() -> None:
    """A profiled command is judged in microseconds, the longest profiles included."""
    from core.programs.carriers import carrier_problem  # noqa: PLC0415 - measured alone

    lines = [["status"], ["log", "--oneline", "-20"], ["diff", "HEAD~1", "--", "src/app.py"]]
    for line in lines:
        carrier_problem("/usr/bin/git", line)
    started = time.process_time()
    for _ in range(1000):
        for line in lines:
            carrier_problem("/usr/bin/git", line)
    each = (time.process_time() - started) / 3000 * 1e6
    print(f"\n{each:.1f} us a judgement over {len(profiled())} programs")
    assert each < 200
