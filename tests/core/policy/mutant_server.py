"""Run tests of a copy of the project in a separate process that costs little to start.

A program for ``test_policy_mutants.py``: it loads what the copies share and none of our modules,
then forks for each request. One line of JSON in, ``{"folder": …, "tests": […]}``, one line out.
"""

import contextlib
import importlib
import json
import os
import signal
import sys
import traceback
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

_SHARED = ("hypothesis", "json5", "pydantic", "tree_sitter", "tree_sitter_bash")
_OPTIONS = ("-q", "-x", "--tb=short", "--assert=plain", "-p", "no:cacheprovider", "-c", os.devnull)
"""No plugin and no setting but these: the named tests need none, and each costs time."""
_LONGEST = 50
"""CPU seconds after which a run is killed: a weakening may loop forever."""


class _Raised:
    """Records what failed tests raised."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def pytest_runtest_makereport(self, call: "pytest.CallInfo[None]") -> None:
        """Record the exception of one phase of one test."""
        if call.excinfo is not None:
            self.names.append(call.excinfo.typename)


def _run(folder: str, tests: list[str]) -> dict[str, object]:
    """Run the tests of a copy; a failure ends the run."""
    sys.path.insert(0, folder)
    os.chdir(folder)
    raised = _Raised()
    nodes = (f"{folder}/{test}" for test in tests)
    options = [*_OPTIONS, f"--rootdir={folder}", "--import-mode=importlib"]
    code = pytest.main([*options, *nodes], plugins=[raised])
    ours = importlib.import_module("core").__file__
    return {"exit": int(code), "raised": raised.names, "core": ours}


def _fork(folder: str, tests: list[str]) -> str:
    """Return the answer of a child, empty if it broke down; its output is in ``log.txt``."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            # Not of the clock: on a busy machine the genuine copy's tests take that long.
            signal.setitimer(signal.ITIMER_PROF, _LONGEST)
            log = os.open(Path(folder) / "log.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            os.dup2(log, 1)
            os.dup2(log, 2)
            os.write(writing, json.dumps(_run(folder, tests)).encode())
        except BaseException:  # noqa: BLE001 - whatever it was, the parent finds it in the log
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(0)  # never back into the loop of the parent
    os.close(writing)
    with os.fdopen(reading) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    return text


def _judge_properties_alike() -> None:
    """Draw what ``tests/conftest.py``, which is not loaded here, draws; slowness fails nothing."""
    settings.register_profile(
        "sayso",
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("sayso")


def main() -> None:
    """Answer requests until there are no more."""
    for name in _SHARED:
        importlib.import_module(name)
    _judge_properties_alike()
    with contextlib.redirect_stdout(sys.stderr):
        pytest.main(["--version"])  # loads what is left of pytest
    for line in sys.stdin:
        request = json.loads(line)
        print(_fork(request["folder"], request["tests"]), flush=True)


if __name__ == "__main__":
    main()
