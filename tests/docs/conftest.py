"""Print what was run of the pages' blocks."""

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Add up what the tests of the pages reported; a failed page counts as without a reason."""
    reports = terminalreporter.stats.get("passed", [])
    counts = [dict(one.user_properties).get("blocks") for one in reports if one.when == "call"]
    found = [sum(column) for column in zip(*filter(None, counts), strict=True)]
    if not found:
        return
    failed = [one.nodeid for one in terminalreporter.stats.get("failed", [])]
    here, elsewhere, reasons = found
    terminalreporter.write_line(
        f"{here + elsewhere} blocks run ({elsewhere} of them by tests of their own), "
        f"{reasons} not run with a reason, {len(failed)} pages failed"
        if failed
        else f"{here + elsewhere} blocks run ({elsewhere} of them by tests of their own), "
        f"{reasons} not run with a reason, 0 without"
    )
