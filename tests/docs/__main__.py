"""Run the blocks of all pages, or of those named: `python -m tests.docs [docs/how-to/run.md]`."""

import sys

import pytest


def main(names: list[str]) -> int:
    """Return pytest's exit code; its last lines say how many blocks were run."""
    words = ["tests/docs", "--quiet", "--numprocesses=2"]
    wanted = ["-k", " or ".join(name.removeprefix("./") for name in names)] if names else []
    return int(pytest.main([*words, *wanted]))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
