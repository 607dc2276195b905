"""Hold what is made once for all of the oracles."""

import pytest

from tests.faults.program_bench import FULL, install


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """Return the folders of npm and PyPI programs, which come first on the search path."""
    if not FULL:
        return ()
    return install(tmp_path_factory.mktemp("node"), tmp_path_factory.mktemp("python") / "venv")
