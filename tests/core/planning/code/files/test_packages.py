"""Find the `main` of a package, which is what node runs for its folder."""

import os
from pathlib import Path
from threading import Thread

import pytest

from core.planning.code.files.packages import mains


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('{"main": "app.js"}', "app.js"),
        ('{"main": "./lib/"}', "./lib/"),
        ('{"main": "../other"}', "../other"),
        ('{"main": ""}', None),
        ('{"main": 1}', None),
        ('{"main": "a\\u0000b"}', None),
        ("[]", None),
        ("{", None),
        ("[" * 100_000, None),
    ],
)
def test_the_main_of_a_package(tmp_path: Path, text: str, named: str | None) -> None:
    """As it is written, and with what node adds; a broken package has none."""
    (tmp_path / "package.json").write_text(text)
    found = list(mains(str(tmp_path / "package.json")))

    assert found[:1] == ([] if named is None else [f"{tmp_path}/{named}"])
    assert (f"{tmp_path}/{named}/index.js" in found) == (named is not None)


def test_a_package_that_is_gone_has_none(tmp_path: Path) -> None:
    """It may have existed a moment ago."""
    assert not list(mains(str(tmp_path / "package.json")))


def test_a_pipe_in_the_place_of_a_package_has_none(tmp_path: Path) -> None:
    """Whoever owns the folder would otherwise hold a thread of the gateway for good."""
    os.mkfifo(path := tmp_path / "package.json")
    found: list[str] = []
    reading = Thread(target=lambda: found.extend(mains(str(path))), daemon=True)
    reading.start()
    reading.join(5)
    in_time = not reading.is_alive()
    os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK))

    assert (in_time, found) == (True, [])
