"""Write the first configuration, and change nothing that is there."""

from pathlib import Path

import pytest

from bot.settings import load
from bot.setup.choices import Chosen, Contact, Platform
from bot.setup.config_file import refuse_existing, write
from core.errors import StateError

CHOSEN = Chosen(Platform.TELEGRAM, {"token": "1:a-token-for-the-tests-of-settings-0001"})
ANA = Contact("42", "-100", "Ana")


def test_what_is_written_can_be_loaded(tmp_path: Path) -> None:
    """The secret in a file of its own, both private; who answers, and where."""
    home = tmp_path / "home"
    path = write(home, CHOSEN, ANA)
    section = load(home, environ={}).channels.telegram

    assert section is not None
    assert section.token.get_secret_value() == CHOSEN.secrets["token"]
    assert section.approvers == ("42",)
    assert {one.stat().st_mode & 0o777 for one in (path, home / "telegram-token")} == {0o600}
    with pytest.raises(StateError, match="so nothing was changed"):
        refuse_existing(home)


def test_a_second_try_with_the_same_token_goes_on(tmp_path: Path) -> None:
    """The first may have ended between the two files."""
    write(tmp_path / "home", CHOSEN, ANA).unlink()

    assert write(tmp_path / "home", CHOSEN, ANA).exists()


@pytest.mark.parametrize("name", ["telegram-token", "config.json5"])
def test_a_file_with_other_contents_is_kept(tmp_path: Path, name: str) -> None:
    """It may be in use; the message names it."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / name).write_text("other")

    with pytest.raises(StateError, match=rf"{name} exists with other contents"):
        write(home, CHOSEN, ANA)
    assert (home / name).read_text() == "other"
