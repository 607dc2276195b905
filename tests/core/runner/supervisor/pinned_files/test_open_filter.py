"""Check the numbers of the observed calls, and what the filter lets through."""

import pytest

from core.hosts.sandbox.filters.syscalls import AARCH64, X86_64
from core.runner.supervisor.pinned_files import open_filter


@pytest.mark.parametrize(
    ("arch", "numbers"), [(0xC000003E, X86_64), (0xC00000B7, AARCH64)], ids=["x86-64", "aarch64"]
)
def test_the_sandbox_knows_the_calls_by_the_same_numbers(
    arch: int, numbers: dict[str, int]
) -> None:
    """Two tables, written independently."""
    own = open_filter._NUMBERS[arch]
    shared = own.keys() & numbers.keys()

    assert {"openat", "openat2", "io_uring_setup"} <= shared
    assert {name: own[name] for name in shared} == {name: numbers[name] for name in shared}


def test_each_call_that_names_a_file_to_open_or_replace_is_seen() -> None:
    """On each architecture, in its old and its new form if it has both."""
    for numbers in open_filter._NUMBERS.values():
        assert {"openat", "openat2", "renameat2", "linkat", "symlinkat", "unlinkat"} <= set(numbers)
        assert len(set(numbers.values())) == len(numbers)
