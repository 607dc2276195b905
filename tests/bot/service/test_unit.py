"""Write the unit for each user, verify it with systemd, and recognise a person's edit."""

import shutil
import subprocess
from pathlib import Path

import pytest

from bot.service.unit import NAME, Program, Scope, Unit, chosen, is_ours, quoted
from core.errors import StateError

PROGRAM = Path("/usr/bin/true")
UNITS = [
    Unit(Scope.USER, PROGRAM),
    Unit(Scope.USER, PROGRAM, Path("/srv/a home/$HOME%h\"'\\"), sudo=False),
    Unit(Scope.SYSTEM, PROGRAM, user="daemon"),
    Unit(Scope.SYSTEM, PROGRAM, Path("/srv/sayso"), "daemon", sudo=False),
    Unit(Scope.USER, PROGRAM, runs=Program.NODE),
    Unit(Scope.SYSTEM, PROGRAM, Path("/srv/node"), "daemon", sudo=False, runs=Program.NODE),
]


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: f"{unit.runs} {unit.scope} {unit.sudo}")
def test_systemd_accepts_it(unit: Unit, tmp_path: Path) -> None:
    """``systemd-analyze verify`` finds nothing; a line that it cannot know is the control."""
    assert shutil.which("systemd-analyze"), "missing; tests/system_packages.sh installs it"
    assert _verified(unit.text(), unit.scope, tmp_path) == ""
    wrong = unit.text().replace("Type=notify", "Type=notify\nProtectEverything=yes")
    assert "ProtectEverything" in _verified(wrong, unit.scope, tmp_path)


def _verified(text: str, scope: Scope, folder: Path) -> str:
    (folder / NAME).write_text(text)
    done = subprocess.run(
        ["systemd-analyze", "verify", f"--{scope}", "--man=no", str(folder / NAME)],
        env={"PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=30,
    )
    return "\n".join(line for line in done.stdout.splitlines() if NAME in line)


def test_every_line_that_sets_something_has_a_reason() -> None:
    """Above each block of lines is a comment; only what every unit has goes without."""
    plain = {"Description", "Wants", "After", "ExecStart", "User", "Environment", "WantedBy"}
    text = Unit(Scope.SYSTEM, PROGRAM, Path("/h"), "daemon", sudo=False).text()
    explained = False
    for line in text.splitlines():
        explained = line.startswith("#") or (explained and bool(line) and line[0] != "[")
        name = line.partition("=")[0]
        if "=" in line and line[0] != "#" and name not in plain | {"Restart", "RestartSec"}:
            assert explained, line


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: f"{unit.scope} {unit.sudo}")
def test_an_edit_shows(unit: Unit) -> None:
    """As written it is ours; with any line changed, added or removed it is a person's."""
    text = unit.text()
    assert is_ours(text)
    for edited in (text + "#\n", text.replace("RestartSec=2", "RestartSec=3"), "", text[:-2]):
        assert not is_ours(edited)


def test_what_was_chosen_is_kept() -> None:
    """An installation over it needs neither --run-as nor --no-sudo again."""
    found = chosen(UNITS[3].text())
    assert (found.user, found.sudo) == ("daemon", False)
    assert (chosen("").user, chosen("").sudo) == ("", True)
    assert chosen(UNITS[2].text()).sudo


def test_a_path_is_written_as_systemd_reads_it() -> None:
    """Specifiers and variables are text; what cannot be written is refused."""
    assert quoted("/opt/sayso/bin/sayso") == "/opt/sayso/bin/sayso"
    assert quoted('/a b/%h/$X/"') == '"/a b/%%h/$$X/\\""'
    assert 'Environment="SAYSO_HOME=/srv/a home/$HOME%%h' in UNITS[1].text()
    with pytest.raises(StateError, match="control character"):
        quoted("/a\nb")
