"""Identify the process at the other end of a Unix socket."""

import os
import pwd
import subprocess
from pathlib import Path

from bot.intake.callers import unix_peer
from core.ipc.peer import Peer


def test_commands_of_one_terminal_share_a_session() -> None:
    """A child of this process is in the same kernel session, a setsid child is not."""
    own = unix_peer.kernel_session(os.getpid())
    with subprocess.Popen(["sleep", "30"]) as child:
        same = unix_peer.kernel_session(child.pid)
        child.kill()
    with subprocess.Popen(["sleep", "30"], start_new_session=True) as child:
        other = unix_peer.kernel_session(child.pid)
        child.kill()

    assert own is not None
    assert own == same
    assert own != other


def test_sessions_led_from_outside_the_namespace_count_as_one(tmp_path: Path) -> None:
    """Session 0 (its leader is invisible) equals itself and no session in here."""
    fields = " ".join(str(field) for field in range(4, 30))
    for pid, session in (("7", "0"), ("8", "0"), ("9", "9")):
        (tmp_path / pid).mkdir()
        (tmp_path / pid / "stat").write_text(f"{pid} (a) b) R 1 1 {session} {fields}\n")

    assert (0, 0) == unix_peer.kernel_session(7, tmp_path) == unix_peer.kernel_session(8, tmp_path)
    assert (9, 19) == unix_peer.kernel_session(9, tmp_path)


def test_a_process_that_is_gone_has_no_session() -> None:
    """A peer that ended cannot be told from the requester."""
    child = subprocess.Popen(["true"])
    child.wait()

    assert unix_peer.kernel_session(child.pid) is None


def test_identity_comes_from_the_connection() -> None:
    """Requester and person are named by uid and kernel session."""
    peer = Peer(os.getpid(), 1000, 1000)

    asked, answers = unix_peer.requester(peer), unix_peer.actor(peer)

    assert "uid:1000" == asked.account == answers.account
    assert unix_peer.kernel_session(os.getpid()) == asked.process
    assert "terminal" == answers.channel


def test_a_person_here_is_named_by_the_machine() -> None:
    """By the login name; a uid that belongs to no one stays without one."""
    names = {user.pw_uid: user.pw_name for user in reversed(pwd.getpwall())}
    nobody = max(names) + 1 if max(names) < 2**31 else 2**31 - 7
    named, unnamed = (unix_peer.actor(Peer(os.getpid(), uid, 0)) for uid in (0, nobody))

    assert (names[0], "uid:0") == (named.name, named.account)
    assert ("", f"uid:{nobody}") == (unnamed.name, unnamed.account)
