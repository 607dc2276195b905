import os
import sys
import threading
import time
from pathlib import Path

import pytest

from core.errors import StateError
from core.model.decision import DenialReason
from core.model.identity import ApprovalId
from core.model.result import Finished, Output
from core.nodes.frames import Ended, NotRun
from core.nodes.ledger import FOLDER, Entry, Ledger

ONE, TWO, DIGEST = ApprovalId("1" * 26), ApprovalId("2" * 26), "d" * 64


def _ended(run_id: ApprovalId = ONE, code: int = 0) -> Ended:
    return Ended(run_id=run_id, result=Finished(run_id, code, None, Output("x", "x", 1), 5))


def test_a_run_is_claimed_once_over_restarts(tmp_path: Path) -> None:
    """A later reader of the folder knows it; another id is free."""
    ledger = Ledger.of(tmp_path)
    assert ledger.claim(ONE, DIGEST)
    assert not ledger.claim(ONE, DIGEST)

    again = Ledger.of(tmp_path)
    assert not again.claim(ONE, DIGEST)
    assert again.claim(TWO, DIGEST)
    assert not ledger.claim(TWO, DIGEST)  # the first process did not see that claim


def test_what_a_passkey_allowed_is_never_forgotten(tmp_path: Path) -> None:
    """Its proof has no end: a gateway could order the run again once its id is free.

    The control is a run that the gateway's word allowed: it is removed after a month. A damaged one
    is kept as well.
    """
    ledger = Ledger.of(tmp_path)
    damaged = ApprovalId("3" * 26)
    for run_id, signed in ((ONE, True), (TWO, False), (damaged, False)):
        ledger.claim(run_id, DIGEST, signed=signed)
        ledger.end(run_id, DIGEST, _ended(run_id))
        ledger.note(run_id)
    long_ago = time.time() - 31 * 86_400
    for path in (tmp_path / FOLDER).iterdir():
        if damaged in path.name:
            path.write_text("{")
        os.utime(path, (long_ago, long_ago))

    again = Ledger.of(tmp_path)
    assert [again.knows(one) for one in (ONE, TWO, damaged)] == [True, False, True]
    assert not again.claim(ONE, DIGEST, signed=True)


def test_an_ending_is_delivered_until_it_is_noted(tmp_path: Path) -> None:
    """Over restarts; then it is kept on disk only, and still known."""
    ledger = Ledger.of(tmp_path)
    ledger.claim(ONE, DIGEST)
    assert (ledger.pending(), ledger.ending(ONE)) == ((), None)
    ledger.end(ONE, DIGEST, _ended())
    assert ledger.pending() == Ledger.of(tmp_path).pending() == (_ended(),)

    ledger.note(ONE)
    for reader in (ledger, Ledger.of(tmp_path)):
        assert reader.pending() == ()
        assert reader.knows(ONE)
        assert reader.ending(ONE) == _ended()
        assert not reader.claim(ONE, DIGEST)


def test_an_ending_that_is_held_outlasts_kill_9(tmp_path: Path) -> None:
    """It is in the file before it is sent; saving, which a power cut needs, changes nothing."""
    ledger = Ledger.of(tmp_path)
    ledger.claim(ONE, DIGEST)
    ledger.hold(ONE, DIGEST, _ended(code=3))
    assert Ledger.of(tmp_path).pending() == (_ended(code=3),)
    ledger.save(ONE)
    assert Ledger.of(tmp_path).pending() == (_ended(code=3),)


def test_an_ending_may_be_noted_before_it_is_saved(tmp_path: Path) -> None:
    """The gateway answers faster than the disk; a late write makes no second file."""
    ledger = Ledger.of(tmp_path)
    ledger.claim(ONE, DIGEST)
    ledger.hold(ONE, DIGEST, _ended())
    ledger.note(ONE)
    ledger.save(ONE)
    assert [path.name for path in (tmp_path / FOLDER).iterdir()] == [f"{ONE}.noted.json"]
    assert (ledger.pending(), Ledger.of(tmp_path).ending(ONE)) == ((), _ended())


@pytest.mark.parametrize("half", ['{"v":1,"digest":"d', '{"v":1}x{"', "\0\0\0"])
def test_half_an_ending_is_none(tmp_path: Path, half: str) -> None:
    """A power cut left it: the run ended unseen, once, and what follows is read whole."""
    Ledger.of(tmp_path).claim(ONE, DIGEST)
    path = tmp_path / FOLDER / f"{ONE}.json"
    path.write_text(path.read_text() + half)
    (ending,) = Ledger.of(tmp_path).pending()
    assert isinstance(ending, Ended)
    assert (ending.result.exit_code, ending.result.signal) == (None, None)
    assert Ledger.of(tmp_path).pending() == (ending,)
    assert not Ledger.of(tmp_path).claim(ONE, DIGEST)


@pytest.mark.parametrize("line", ["\0\0\0\n", '\0\0"ending":null}\n'])
def test_an_ending_whose_start_was_lost_is_none(tmp_path: Path, line: str) -> None:
    """A power cut kept only the end of the line; the claim before it is intact, and starts here."""
    Ledger.of(tmp_path).claim(ONE, DIGEST)
    path = tmp_path / FOLDER / f"{ONE}.json"
    path.write_text(path.read_text() + line)
    (ending,) = Ledger.of(tmp_path).pending()
    assert isinstance(ending, Ended)
    assert (ending.result.exit_code, ending.result.signal) == (None, None)
    assert not Ledger.of(tmp_path).claim(ONE, DIGEST)


def test_endings_are_listed_while_others_are_noted(tmp_path: Path) -> None:
    """The loop lists them for a new connection; a thread records those of the last one."""
    ledger = Ledger.of(tmp_path)
    ids = [ApprovalId(f"{number:026}") for number in range(300)]
    for run_id in ids:
        ledger.end(run_id, DIGEST, _ended(run_id))
    noting = threading.Thread(target=lambda: [ledger.note(one) for one in ids])
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        noting.start()
        while noting.is_alive():
            ledger.pending()
    finally:
        sys.setswitchinterval(interval)
        noting.join()
    assert ledger.pending() == ()


def test_a_file_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    """It held one object and no end of line: a claim that was left, and an ending."""
    for run_id, ending in ((ONE, None), (TWO, _ended(TWO, 4))):
        ledger = Ledger.of(tmp_path)
        ledger.end(run_id, DIGEST, ending or _ended(run_id))
        path = tmp_path / FOLDER / f"{run_id}.json"
        path.write_text(Entry(digest=DIGEST, ending=ending).model_dump_json())
    unseen, ended = Ledger.of(tmp_path).pending()
    assert isinstance(unseen, Ended)
    assert (unseen.run_id, unseen.result.exit_code) == (ONE, None)
    assert ended == _ended(TWO, 4)
    assert Ledger.of(tmp_path).pending() == (unseen, ended)


def test_what_never_ran_is_kept_as_well(tmp_path: Path) -> None:
    """A refused id never runs later."""
    refused = NotRun(run_id=ONE, reason=DenialReason.PLAN_DRIFT, why="changed")
    ledger = Ledger.of(tmp_path)
    ledger.end(ONE, DIGEST, refused)
    assert Ledger.of(tmp_path).pending() == (refused,)
    assert not Ledger.of(tmp_path).claim(ONE, DIGEST)


def test_a_run_that_a_crash_interrupted_ended_unseen(tmp_path: Path) -> None:
    """Neither exit code nor signal: nothing is guessed. It is not run again."""
    Ledger.of(tmp_path).claim(ONE, DIGEST)
    (ending,) = Ledger.of(tmp_path).pending()
    assert isinstance(ending, Ended)
    assert (ending.result.exit_code, ending.result.signal) == (None, None)


def test_a_note_about_what_did_not_end_changes_nothing(tmp_path: Path) -> None:
    """Nor one about an unknown id."""
    ledger = Ledger.of(tmp_path)
    ledger.claim(ONE, DIGEST)
    ledger.note(ONE)
    ledger.note(TWO)
    assert ledger.ending(ONE) is None
    assert not ledger.knows(TWO)


def test_an_ending_survives_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    """In memory, until it is delivered; a claim that cannot be written is an error."""
    ledger = Ledger.of(tmp_path)
    ledger.claim(ONE, DIGEST)
    (tmp_path / FOLDER).rename(tmp_path / "gone")
    ledger.end(ONE, DIGEST, _ended(code=3))
    assert ledger.pending() == (_ended(code=3),)
    with pytest.raises(StateError):
        ledger.claim(TWO, DIGEST)
    (tmp_path / "gone").rename(tmp_path / FOLDER)
    ledger.note(ONE)
    assert Ledger.of(tmp_path).ending(ONE) == _ended(code=3)


@pytest.mark.parametrize("text", ["", "{}", '{"v":2}', f'{{"v":1,"digest":"{DIGEST}","x":1}}'])
def test_a_damaged_file_is_refused(tmp_path: Path, text: str) -> None:
    """A node that forgot a run could run it twice."""
    Ledger.of(tmp_path).claim(ONE, DIGEST)
    (tmp_path / FOLDER / f"{ONE}.json").write_text(text)
    with pytest.raises(StateError, match="damaged"):
        Ledger.of(tmp_path)


def test_a_later_gateway_hears_of_no_run_of_an_earlier_one(tmp_path: Path) -> None:
    """What the run printed was for the gateway that ordered it, should the node return to it."""
    first, second = "a" * 64, "b" * 64
    earlier = Ledger.of(tmp_path, gateway=first)
    for run_id in (ONE, TWO):
        earlier.claim(run_id, DIGEST)
        earlier.end(run_id, DIGEST, _ended(run_id))
    earlier.note(TWO)

    later = Ledger.of(tmp_path, gateway=second)
    assert later.pending() == ()
    assert (later.ending(ONE), later.ending(TWO)) == (None, None)
    assert not later.claim(ONE, DIGEST)
    again = Ledger.of(tmp_path, gateway=first)
    assert again.pending() == (_ended(),)
    assert again.ending(TWO) == _ended(TWO)


def test_refused_orders_take_no_disk_and_little_memory(tmp_path: Path) -> None:
    """A gateway can make any number; the latest are told again until they are noted."""
    ledger = Ledger.of(tmp_path)
    for number in range(2_000):
        run_id = ApprovalId(f"{number:026d}")
        ledger.refuse(NotRun(run_id=run_id, reason=DenialReason.HOST_UNAVAILABLE, why="late"))
    assert list((tmp_path / FOLDER).iterdir()) == []
    assert len(ledger.pending()) == 1_000
    last, first = ApprovalId(f"{1_999:026d}"), ApprovalId("0" * 26)
    assert (ledger.knows(last), ledger.knows(first)) == (True, False)
    ledger.note(last)
    assert ledger.knows(last), "or the same order, sent again, might run"
    assert ledger.ending(last) == NotRun(
        run_id=last, reason=DenialReason.HOST_UNAVAILABLE, why="late"
    )
    assert last not in {one.run_id for one in ledger.pending()}
