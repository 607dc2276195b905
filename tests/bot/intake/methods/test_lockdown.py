"""Tell the person who asks to lift a lockdown what it waits for."""

import os
from pathlib import Path

import pytest

from bot.intake.callers.caller import of_peer
from bot.intake.callers.terminal import Askers
from bot.intake.methods.lockdown import LockdownMethods
from bot.intake.registry.params import NoParams
from core.gate.guards.home_check import HomeCheck
from core.gate.guards.lockdown import LIFT, NAME, Lockdown
from core.ipc.peer import Peer, start_ticks
from core.store import open_store


@pytest.mark.parametrize("cause", ["home", "person", ""])
async def test_what_ends_by_itself_is_said_and_nobody_is_asked_for_a_terminal(
    tmp_path: Path, cause: str
) -> None:
    """Others can enter the home: closing it lifts that. What a person engaged, a person lifts."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    lockdown = Lockdown(home / NAME, HomeCheck.of(home))
    began = start_ticks(os.getpid())
    assert began is not None
    caller = of_peer(Peer(os.getpid(), os.getuid(), os.getgid(), began + 1))
    store = await open_store(f"sqlite:///{home}/state.db")
    try:
        if cause == "home":
            home.chmod(0o755)
        if cause == "person":
            lockdown.engage("a drill", by="uid:0")
        answer = await LockdownMethods(lockdown, Askers(store), None).lift(NoParams(), caller)
    finally:
        await store.close()

    words = {
        "home": f"run: chmod 700 '{home}'.",
        "person": "Only a person at a terminal may do this",
        "": "Not locked down.",
    }
    assert words[cause] in answer.sentence
    assert LIFT not in answer.sentence
    assert (lockdown.state() is None) is (cause == "")
