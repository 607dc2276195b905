"""Check with `sayso doctor` where secret files lead and who can read them."""

import json
from pathlib import Path

import pytest

from bot.doctor.secret_files import secret_files
from bot.health.check import Verdict
from bot.settings import read

TOKEN = "123456789:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """Return a folder that others can enter, which is not the home."""
    for folder in (*reversed(tmp_path.parents[:3]), tmp_path):
        folder.chmod(folder.stat().st_mode | 0o055)  # one of them may be /tmp
    made = tmp_path / "secrets"
    made.mkdir(mode=0o755)
    return made


def findings(home: Path, file: str) -> dict[str, tuple[Verdict, str]]:
    """Return the findings for a configuration whose Telegram token is in a file."""
    home.mkdir(mode=0o700, exist_ok=True)
    config = {"channels": {"telegram": {"token": {"file": file}, "approvers": ["1"]}}}
    (home / "config.json5").write_text(json.dumps(config))
    (home / "config.json5").chmod(0o600)
    return {one.subject: (one.verdict, one.detail) for one in secret_files(read(home, {}))}


@pytest.mark.parametrize(
    ("mode", "verdict", "words"),
    [
        (0o600, Verdict.OK, "readable by its owner alone (mode 600)"),
        (0o640, Verdict.FAIL, "can be read by other users (mode 640); run: chmod 600 "),
        (0o644, Verdict.FAIL, "can be read by other users (mode 644); run: chmod 600 "),
    ],
)
def test_a_secret_that_others_can_read_fails(
    tmp_path: Path, outside: Path, mode: int, verdict: Verdict, words: str
) -> None:
    """By its mode, if others can enter its folder; through a link as well."""
    file = outside / "token"
    file.write_text(TOKEN)
    file.chmod(mode)
    (tmp_path / "home").mkdir(mode=0o700)
    (tmp_path / "home" / "link").symlink_to(file)

    for name in (str(file), "link"):
        found, said = findings(tmp_path / "home", name)["secret channels.telegram.token"]
        assert (found, words in said) == (verdict, True), said
    assert f"which leads to {file}" in said


def test_the_home_keeps_others_out(tmp_path: Path) -> None:
    """The control: in a folder of mode 700 the mode of the file does not matter."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "token").write_text(TOKEN)
    (home / "token").chmod(0o644)

    verdict, said = findings(home, "token")["secret channels.telegram.token"]
    assert verdict is Verdict.OK
    assert "in a folder of mode 700" in said
