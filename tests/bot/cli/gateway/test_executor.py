"""Refuse what needs root, with a line that root's shell understands; know who runs the gateway."""

import argparse
import os
import pwd
from collections.abc import Iterator
from pathlib import Path

import pytest

import bot.executor_setup.setup  # noqa: F401 - read before the user changes
from bot.cli.gateway.executor import undo, user_add
from core.errors import BadRequest

_NOBODY = 65_534


@pytest.fixture
def caller() -> Iterator[str]:
    """Go on as a user that is not root; return the name."""
    ours = os.geteuid()
    os.seteuid(_NOBODY if ours == 0 else ours)
    try:
        yield pwd.getpwuid(os.geteuid()).pw_name
    finally:
        os.seteuid(ours)


def _adding(user: str) -> argparse.Namespace:
    return argparse.Namespace(user=user, gateway_user=None, dry_run=True, json=True)


@pytest.mark.usefixtures("caller")
def test_the_line_for_root_names_the_program_by_its_path() -> None:
    """Sudo searches a path of its own, in which a clone's ``.venv`` is not."""
    with pytest.raises(BadRequest) as refused:
        undo(argparse.Namespace(delete_users=False, dry_run=False, json=False))

    named = str(refused.value).partition("`sudo ")[2].split()[0]
    assert Path(named).is_absolute()
    assert os.access(named, os.X_OK)


def test_whoever_calls_without_sudo_runs_the_gateway(
    caller: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Executors must not run as that user, who need not be named."""
    monkeypatch.delenv("SUDO_USER", raising=False)
    with pytest.raises(BadRequest, match=f"must not run as {caller}: that would isolate nothing"):
        user_add(_adding(caller))


def test_with_sudo_its_caller_runs_the_gateway(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not root, as whom the command runs then."""
    monkeypatch.setenv("SUDO_USER", "alice")
    with pytest.raises(BadRequest, match="must not run as alice"):
        user_add(_adding("alice"))
