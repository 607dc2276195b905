"""Call systemd's own programs as documented, and read their answers strictly."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.service.systemctl import Systemd
from bot.service.unit import Program, Scope
from core.errors import HostUnavailable
from tests.support.runs import script

SHOWN = "LoadState,ActiveState,SubState,UnitFileState,StatusText,MainPID"

Install = Callable[[str, str], None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Put programs on an empty search path; each records its arguments, and its bus."""
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    noted = f'echo "$*" >{tmp_path}/asked; echo "$XDG_RUNTIME_DIR" >{tmp_path}/bus\n'

    def put(name: str, text: str) -> None:
        script(programs / name, f"#!/bin/sh\n{noted}{text}\n")

    return put


def _asked(folder: Path) -> str:
    return (folder / "asked").read_text().strip()


def test_the_state_has_what_was_asked_for_and_nothing_else(
    tmp_path: Path, install: Install
) -> None:
    """A value may contain ``=``; a line that systemd adds on its own is not a state."""
    install("systemctl", "printf 'ActiveState=active\\nStatusText=a=b\\nNames=x\\nwarning\\n'")

    assert Systemd(Scope.USER, {}).state() == {"ActiveState": "active", "StatusText": "a=b"}
    assert _asked(tmp_path) == (
        f"--user --no-pager --no-ask-password show sayso.service --property {SHOWN}"
    )


def test_another_program_of_the_system_is_asked_about_by_its_name(
    tmp_path: Path, install: Install
) -> None:
    """A node's unit, in the system's service manager."""
    install("systemctl", "echo LoadState=not-found")

    found = Systemd(Scope.SYSTEM, {}, Program.NODE)
    assert found.state() == {"LoadState": "not-found"}
    assert _asked(tmp_path).startswith("--system ")
    assert f" show {Program.NODE.unit_name} " in _asked(tmp_path)


@pytest.mark.parametrize("text", [None, "echo ActiveState=active; exit 1"])
def test_a_manager_that_cannot_be_asked_knows_nothing(install: Install, text: str | None) -> None:
    """It is not installed, or it fails: then its output counts for nothing."""
    if text is not None:
        install("systemctl", text)

    assert Systemd(Scope.USER, {}).state() == {}


def test_what_is_told_without_systemd_says_what_is_missing(install: Install) -> None:
    """Unlike a query, an order must not vanish."""
    del install
    with pytest.raises(HostUnavailable, match="systemctl is not installed; this needs systemd"):
        Systemd(Scope.USER, {}).tell("start", "sayso.service")


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("true", ""),
        ("echo /etc/other.service:3: Unknown key", ""),
        (
            "echo sayso.service:3: Unknown key; echo other.service: x",
            "sayso.service:3: Unknown key",
        ),
        ("echo sayso.service: cannot; exit 1", "sayso.service: cannot"),
        ("echo no unit at all; exit 1", "no unit at all"),
    ],
)
def test_a_verdict_on_a_unit_is_about_ours(install: Install, text: str, faults: str) -> None:
    """Other units' faults are theirs, except where nothing else says why it failed."""
    install("systemd-analyze", text)

    assert Systemd(Scope.USER, {}).faults("/run/x/sayso.service") == faults


def test_no_verdict_without_the_program_that_gives_it(install: Install) -> None:
    """``None`` differs from "no fault"."""
    del install
    assert Systemd(Scope.USER, {}).faults("/run/x/sayso.service") is None


@pytest.mark.parametrize(
    ("environ", "bus"), [({}, "/run/x"), ({"XDG_RUNTIME_DIR": "/run/user/7"}, "/run/user/7")]
)
def test_a_verdict_needs_no_session_of_the_user(
    tmp_path: Path, install: Install, environ: dict[str, str], bus: str
) -> None:
    """If there is no runtime folder, the unit's own is used instead."""
    install("systemd-analyze", "true")
    Systemd(Scope.USER, {**environ, "HOME": os.devnull}).faults("/run/x/sayso.service")

    assert (tmp_path / "bus").read_text().strip() == bus
    assert _asked(tmp_path) == "verify --user --man=no /run/x/sayso.service"
