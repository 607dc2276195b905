import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.settings.home import (
    _refuse_others,
    check_home,
    ensure_home,
    home_folder,
    read_config,
    read_file,
)
from core.errors import StateError


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        ({"HOME": "/home/ann"}, "/home/ann/.sayso"),
        ({"HOME": "/home/ann", "SAYSO_HOME": "/srv/sayso"}, "/srv/sayso"),
        ({"HOME": "/home/ann", "SAYSO_HOME": "~/state"}, "/home/ann/state"),
        ({"HOME": "/home/ann", "SAYSO_HOME": ""}, "/home/ann/.sayso"),
    ],
)
def test_the_home_comes_from_the_environment(environ: dict[str, str], folder: str) -> None:
    """$SAYSO_HOME names it, ~/.sayso is the default, a tilde is the user's folder."""
    assert home_folder(None, environ) == Path(folder)


def test_a_relative_home_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later change of folder must not move the state."""
    monkeypatch.chdir(tmp_path)

    assert home_folder(None, {"SAYSO_HOME": "state"}) == tmp_path / "state"
    assert home_folder(Path("here"), {"SAYSO_HOME": "state"}) == tmp_path / "here"


def test_a_new_home_is_private(tmp_path: Path) -> None:
    """The folder is created with mode 0700 whatever the umask allows."""
    before = os.umask(0)
    try:
        ensure_home(tmp_path / "deep" / "home")
    finally:
        os.umask(before)

    assert stat.S_IMODE((tmp_path / "deep" / "home").stat().st_mode) == 0o700


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702, 0o1777])
def test_a_home_that_others_may_write_is_refused(tmp_path: Path, mode: int) -> None:
    """A user who can write to the folder can replace the policy."""
    tmp_path.chmod(mode)

    with pytest.raises(StateError, match=f"chmod 700 {tmp_path}"):
        ensure_home(tmp_path)


@pytest.mark.parametrize("mode", [0o700, 0o755])
def test_a_home_that_only_its_owner_writes_is_taken(tmp_path: Path, mode: int) -> None:
    """Reading alone gives no one control; the secret files in it are 0600 themselves."""
    tmp_path.chmod(mode)

    ensure_home(tmp_path)
    check_home(tmp_path)


def test_a_home_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    """The message says what is there instead."""
    (tmp_path / "file").write_text("")

    with pytest.raises(StateError, match="is not a folder"):
        ensure_home(tmp_path / "file")


def test_a_home_that_cannot_be_created_says_why(tmp_path: Path) -> None:
    """The kernel's reason comes with the remedy."""
    (tmp_path / "file").write_text("")

    with pytest.raises(StateError, match="Not a directory"):
        ensure_home(tmp_path / "file" / "home")
    with pytest.raises(StateError, match=r"cannot be created: No such file.* Set SAYSO_HOME"):
        ensure_home(Path("/proc/self/none/home"))


def test_what_belongs_to_somebody_else_is_refused(tmp_path: Path) -> None:
    """Its owner could replace every file in it; root could anyway."""

    def owned_by(uid: int) -> os.stat_result:
        return os.stat_result((stat.S_IFDIR | 0o700, 0, 0, 1, uid, uid, 0, 0, 0, 0))

    _refuse_others(tmp_path, owned_by(os.geteuid()))
    _refuse_others(tmp_path, owned_by(0))
    with pytest.raises(StateError, match="belongs to uid 12345"):
        _refuse_others(tmp_path, owned_by(12345))


def test_a_config_that_others_may_write_is_refused(tmp_path: Path) -> None:
    """In a home that others can enter, the file's own mode decides."""
    path = tmp_path / "config.json5"
    path.write_text("{}")
    path.chmod(0o664)
    tmp_path.chmod(0o755)

    with pytest.raises(StateError, match=f"chmod 600 {path}"):
        read_config(path, 10)


def test_a_group_writable_config_in_a_private_home_is_taken(tmp_path: Path) -> None:
    """Editors under umask 002 leave it so, and no one else can reach it."""
    path = tmp_path / "config.json5"
    path.write_text("{}")
    path.chmod(0o664)
    tmp_path.chmod(0o700)

    assert read_config(path, 10) == b"{}"


def test_a_missing_config_is_none(tmp_path: Path) -> None:
    """Without a file the defaults apply."""
    assert read_config(tmp_path / "config.json5", 10) is None


def test_a_link_to_nothing_is_no_missing_config(tmp_path: Path) -> None:
    """Where the disk that holds the configuration is away, the defaults are not what was meant."""
    path = tmp_path / "config.json5"
    path.symlink_to(tmp_path / "away" / "config.json5")

    with pytest.raises(StateError, match=r"config.json5 is a link to .*away.*, which does not"):
        read_config(path, 100)


@pytest.mark.parametrize("check", [check_home, ensure_home])
def test_a_home_that_is_a_link_to_nothing_is_refused(
    tmp_path: Path, check: Callable[[Path], None]
) -> None:
    """It is no missing home, which would mean the defaults."""
    home = tmp_path / "home"
    home.symlink_to(tmp_path / "away")

    with pytest.raises(StateError, match=r"home is a link to .*away, which does not exist"):
        check(home)


def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    """Opening a pipe without a writer must not hang the start."""
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(OSError, match="not a regular file"):
        read_file(tmp_path / "pipe", 10)
    with pytest.raises(StateError, match="cannot be read"):
        read_config(tmp_path / "pipe", 10)
