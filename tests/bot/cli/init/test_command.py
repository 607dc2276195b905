"""Take each secret of a platform from a file, or none of them; refuse at once."""

import argparse
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bot.cli.init.command import _named
from bot.setup.choices import Platform
from core.errors import ConfigError
from tests.support.tables import rows

ROOT = Path(__file__).parents[4]
ONE, TWO = Path("one"), Path("two")


def named(platform: Platform, *files: Path | None, yes: bool) -> dict[str, Path] | None:
    """Return the files of a platform's secrets."""
    first, second = files
    return _named(argparse.Namespace(token_file=first, app_token_file=second, yes=yes), platform)


@pytest.mark.parametrize("yes", [False, True])
@rows(
    "platform, files, found",
    [
        (Platform.TERMINAL, (None, None), {}),
        (Platform.TELEGRAM, (ONE, None), {"token": ONE}),
        (Platform.DISCORD, (ONE, TWO), {"token": ONE}),
        (Platform.SLACK, (ONE, TWO), {"botToken": ONE, "appToken": TWO}),
    ],
)
def test_each_secret_has_its_file(
    platform: Platform, files: tuple[Path | None, ...], found: dict[str, Path], *, yes: bool
) -> None:
    """A platform with one secret needs one file; a terminal needs none."""
    assert named(platform, *files, yes=yes) == found


@pytest.mark.parametrize(
    ("platform", "files", "needs"),
    [
        (Platform.TELEGRAM, (None, None), "telegram needs --token-file"),
        (Platform.TELEGRAM, (None, TWO), "telegram needs --token-file"),
        (Platform.SLACK, (ONE, None), "slack needs --token-file and --app-token-file"),
        (Platform.SLACK, (None, TWO), "slack needs --token-file and --app-token-file"),
    ],
)
def test_where_one_is_missing_all_are_asked_for(
    platform: Platform, files: tuple[Path | None, ...], needs: str
) -> None:
    """Unless nothing may be asked."""
    assert named(platform, *files, yes=False) is None
    with pytest.raises(ConfigError, match=f"^{needs}$"):
        named(platform, *files, yes=True)


@pytest.mark.parametrize("words", [(), ("--channel", "terminal", "--yes")])
def test_a_refusal_does_not_wait_for_the_gateway_s_libraries(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    """Without a terminal, or where a configuration exists, there is nothing to set up."""
    tmp_path.chmod(0o700)
    (tmp_path / "config.json5").touch()
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "bot", "init", *words],
        cwd=ROOT,
        env={**os.environ, "SAYSO_HOME": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert done.returncode in {1, 2}
    assert "bot.cli.parser" in done.stderr  # the control: imports are listed
    assert "bot.app" not in done.stderr
