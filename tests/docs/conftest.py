"""Print what was run of the pages' blocks."""

import pytest

_PAGE = "test_pages.py::test_a_page"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Add up what the tests of the pages reported; a failed page counts as without a reason."""
    reports = terminalreporter.stats.get("passed", [])
    counts = [dict(one.user_properties).get("blocks") for one in reports if one.when == "call"]
    found = [sum(column) for column in zip(*filter(None, counts), strict=True)]
    if not found:
        return
    failed = [one for one in terminalreporter.stats.get("failed", []) if _PAGE in one.nodeid]
    here, elsewhere, reasons = found
    without = f"{len(failed)} pages failed" if failed else "0 without"
    terminalreporter.write_line(
        f"{here + elsewhere} blocks run ({elsewhere} of them by tests of their own), "
        f"{reasons} not run with a reason, {without}"
    )
