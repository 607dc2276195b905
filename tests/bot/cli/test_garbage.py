"""Collect garbage rarely in a command, and leave Python as it was."""

import gc
import subprocess
import sys

import pytest

from bot.cli import main


def test_a_command_leaves_the_collector_as_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    """Also if it fails."""
    before = gc.get_threshold()
    with pytest.raises(SystemExit):
        main(["no-such-command"])
    assert gc.get_threshold() == before
    assert "no-such-command" in capsys.readouterr().err


@pytest.mark.slow
def test_loading_a_gateway_collects_rarely() -> None:
    """Python on its own collects hundreds of times in that time."""
    rarely, usually = (_collections(first) for first in ("garbage.collect_rarely()", ""))
    assert usually > 100
    assert rarely < usually / 10


def test_what_is_there_is_kept_and_what_comes_is_collected() -> None:
    """In a separate process: what is kept stays so."""
    code = (
        "import gc\nfrom bot.cli import garbage\nusual = gc.get_threshold()\n"
        "garbage.collect_rarely()\nassert gc.get_threshold() != usual\n"
        "garbage.keep()\nassert gc.get_threshold() == usual\nassert gc.get_freeze_count() > 1000\n"
        "made = []\nmade.append(made)\ndel made\nassert gc.collect() > 0\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def _collections(first: str) -> int:
    code = (
        f"import gc\nfrom bot.cli import garbage\n{first}\nimport bot.app\n"
        "print(sum(one['collections'] for one in gc.get_stats()))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return int(done.stdout)
