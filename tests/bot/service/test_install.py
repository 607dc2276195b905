"""Install, compare and remove the unit; a person's edits are never overwritten."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bot.service.install import program
from core.errors import StateError

SAYSO = Path(sys.executable).with_name("sayso")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return the folder of a user who never installed anything."""
    (tmp_path / "state").mkdir(mode=0o700)
    return tmp_path


def sayso(home: Path, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run ``sayso service`` as that user."""
    given = {name: value for name, value in os.environ.items() if not name.startswith("SAYSO_")}
    return subprocess.run(
        [str(SAYSO), "service", *words],
        env={**given, "HOME": str(home), "SAYSO_HOME": str(home / "state"), **environ},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def unit(home: Path) -> Path:
    """Return where a user's unit is."""
    return home / ".config/systemd/user/sayso.service"


def test_a_unit_is_written_once_and_says_what_to_type(home: Path) -> None:
    """Written, then unchanged; the next command is on standard output."""
    first = sayso(home, "install", SAYSO_TOOLS__EXEC__ASK="always")
    assert first.returncode == 0, first.stderr
    assert first.stdout == f"{unit(home)}: written\nnext: systemctl --user enable --now sayso\n"
    assert "note: SAYSO_TOOLS__EXEC__ASK is set here and not in the unit" in first.stderr
    assert f"ExecStart={SAYSO} serve\n" in unit(home).read_text()
    assert f"Environment=SAYSO_HOME={home}/state\n" in unit(home).read_text()
    assert sayso(home, "install").stdout.startswith(f"{unit(home)}: unchanged\n")


@pytest.mark.slow
def test_an_edited_unit_is_kept(home: Path) -> None:
    """Neither install nor uninstall touches it without --force; both show why."""
    sayso(home, "install")
    unit(home).write_text(unit(home).read_text().replace("RestartSec=2", "RestartSec=9"))
    edited = unit(home).read_text()
    for action in ("install", "uninstall"):
        refused = sayso(home, action)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert "was edited" in refused.stderr
        assert unit(home).read_text() == edited
    assert "-RestartSec=9\n+RestartSec=2\n" in sayso(home, "install").stderr
    asked = json.loads(sayso(home, "status", "--json").stdout)
    assert (asked["compared"], asked["running"]) == ("edited", False)
    assert sayso(home, "install", "--force").returncode == 0
    assert "RestartSec=2" in unit(home).read_text()


def test_what_another_version_wrote_is_replaced(home: Path) -> None:
    """Our own older unit is not an edit: it is written again, with the choices kept."""
    sayso(home, "install", "--no-sudo", SAYSO_HOME=str(home / "elsewhere"))
    done = sayso(home, "install")
    assert "next: systemctl --user daemon-reload && systemctl --user restart sayso" in done.stdout
    assert "NoNewPrivileges=yes" in unit(home).read_text()
    assert f"SAYSO_HOME={home}/state" in unit(home).read_text()


def test_print_writes_nothing(home: Path) -> None:
    """The dry run."""
    printed = sayso(home, "install", "--print").stdout
    assert "Type=notify\n" in printed
    assert json.loads(sayso(home, "install", "--print", "--json").stdout) == {"text": printed}
    assert not unit(home).exists()


def test_a_broken_configuration_is_not_installed(home: Path) -> None:
    """What `sayso config check` refuses would only fail at the start."""
    config = home / "state/config.json5"
    config.write_text("{ toolz: {} }")
    config.chmod(0o600)
    done = sayso(home, "install")
    assert done.returncode == 2
    assert "toolz" in done.stderr
    assert not unit(home).exists()


def test_uninstall_removes_it_and_says_what_is_left(home: Path) -> None:
    """State and drop-ins stay; a second time there is nothing to remove."""
    sayso(home, "install")
    drop_in = unit(home).with_name("sayso.service.d") / "mine.conf"
    drop_in.parent.mkdir()
    drop_in.write_text("[Service]\nNice=5\n")
    done = json.loads(sayso(home, "uninstall", "--json").stdout)
    assert done["removed"]
    assert not unit(home).exists()
    assert drop_in.exists()
    assert done["left"][:2] == [
        f"{home}/state: configuration, state and journal",
        f"{drop_in.parent}: your changes of the unit",
    ]
    assert "there was none" in sayso(home, "uninstall").stdout


def test_a_system_unit_names_its_user(home: Path) -> None:
    """Without --run-as or sudo no user is guessed, and root least of all."""
    refused = sayso(home, "install", "--system", "--print", SUDO_USER="")
    assert refused.returncode == 2
    assert "give --run-as USER" in refused.stderr
    printed = sayso(home, "install", "--system", "--print", "--run-as", "daemon").stdout
    assert "\nUser=daemon\n" in printed
    assert "WantedBy=multi-user.target" in printed


def test_a_passing_or_open_program_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cache is eventually cleaned; what others may replace would run as this user."""
    passing = tmp_path / ".cache/uv/archive-v0/x/bin/sayso"
    passing.parent.mkdir(parents=True)
    passing.write_text("#!/bin/sh\n")
    passing.chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(passing)])
    with pytest.raises(StateError, match="may be gone tomorrow") as refused:
        program({})
    assert "`make install` in a clone" in str(refused.value)
    assert "tool install" not in str(refused.value), "no package index has a project of this name"


def test_a_program_that_others_may_replace_names_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mode is changed by chmod; what belongs to somebody else needs another place."""
    folder = tmp_path / "venv"
    folder.mkdir()
    for name in ("sayso", "activate"):
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(folder / "sayso")])
    assert program({}) == folder / "sayso", "the control"
    folder.chmod(0o777)
    with pytest.raises(StateError, match=f"Run: chmod go-w '{folder}'$"):
        program({})
    folder.chmod(0o755)
    os.chown(folder, 12345, -1)
    with pytest.raises(StateError, match=r"belongs to uid 12345, .* in a clone that root owns"):
        program({})
