"""`sayso demo` shows the whole product, with and without a terminal."""

import json
import os
import subprocess
import sys

import pytest

from tests.support.gateway_process import ROOT
from tests.support.terminal import Screen, terminal

DEMO = (sys.executable, "-m", "bot", "demo")


def demo(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the demo without a terminal."""
    return subprocess.run(
        [*DEMO, *words],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("words", "by_itself", "last"),
    [((), True, "finished"), (("--answer", "deny"), False, "denied")],
)
def test_without_a_terminal(words: tuple[str, ...], by_itself: bool, last: str) -> None:
    """All three requests end as they should; who answers for the viewer is said."""
    done = demo("--json", *words)
    steps = [json.loads(line) for line in done.stdout.splitlines()]
    ends = [step["status"] for step in steps if step["step"] == "end"]
    assert (done.returncode, done.stderr) == (0, "")
    assert steps[0]["answersItself"] is by_itself
    assert ends == ["finished", "denied", last]


def test_without_a_terminal_it_says_so() -> None:
    """The first lines say that nobody is waited for."""
    done = demo()
    assert done.returncode == 0
    assert "the demo answers the prompt itself" in done.stdout
    assert "allow-once is answered for you" in done.stdout


def test_in_a_terminal_a_key_answers() -> None:
    """The third request waits for the viewer, and runs once they allow it."""
    with terminal(*DEMO, environ=os.environ) as (process, master):
        screen = Screen(master)
        screen.wait_for("a allow once")
        screen.answer("a")
        screen.wait_for("sets up your own")
        assert process.wait(30) == 0
    assert "ran, exit code 0" in screen.text
