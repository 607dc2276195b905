"""Move away, name or report what a run may not leave in its workspace."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from core.hosts.sandbox.filesystem import workspace_check
from core.hosts.sandbox.filesystem.protect import Protection
from core.hosts.sandbox.filesystem.workspace_check import Check, Checks

PROTECTED = (".git/hooks", ".git/config", ".envrc")
EVIL = "[core]\n\tfsmonitor = ./evil\n"


@pytest.fixture
def checks() -> Iterator[Checks]:
    """Yield the checks of a gateway that protects what the settings protect by default."""
    made = Checks(Protection(PROTECTED))
    yield made
    made.close()


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Return a workspace that is a repository."""
    folder = Path(os.path.realpath(tmp_path)) / "work"
    folder.mkdir()
    _repository(folder)
    return folder


def _repository(folder: Path, config: str = "[core]\n\tbare = false\n") -> Path:
    """Make what git takes for a repository, and return its git folder."""
    git = folder / ".git"
    (git / "objects").mkdir(parents=True)
    (git / "refs").mkdir()
    (git / "hooks").mkdir()
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "config").write_text(config)
    return git


@contextmanager
def _begun(checks: Checks, work: Path, *, binds: bool = True) -> Iterator[Check]:
    """Begin a run in a workspace."""
    fd = os.open(work, os.O_PATH | os.O_DIRECTORY)
    try:
        with checks.run() as check:
            check.begin(fd, str(work), binds=binds)
            yield check
    finally:
        os.close(fd)


async def test_a_run_that_leaves_nothing_is_told_nothing(checks: Checks, work: Path) -> None:
    """Its own files are not the check's concern."""
    await checks.prepare(str(work))
    with _begun(checks, work) as check:
        (work / "made").write_text("by the run")
        assert await check.finish() == ()


async def test_what_appeared_at_a_protected_path_is_moved_away(checks: Checks, work: Path) -> None:
    """Nothing is lost: the finding gives its new name."""
    await checks.prepare(str(work))
    with _begun(checks, work) as check:
        (work / ".envrc").write_text("evil")
        (found,) = await check.finish()

    (moved,) = work.glob(".envrc.*")
    assert moved.read_text() == "evil"
    assert found == (
        f".envrc in the workspace appeared although it is protected; it is called {moved.name} now"
    )


async def test_what_was_replaced_though_it_was_not_held_is_told(checks: Checks, work: Path) -> None:
    """A backend that cannot bind leaves it writable; the owner's earlier files stay unreported."""
    await checks.prepare(str(work))
    (work / ".git/config").write_text("[core]\n")
    with _begun(checks, work, binds=False) as check:
        (work / "new").write_text(EVIL)
        (work / "new").replace(work / ".git/config")
        (found,) = await check.finish()

    assert found.startswith(".git/config in the workspace was replaced or changed meanwhile")


async def test_a_set_user_id_bit_is_removed(checks: Checks, work: Path) -> None:
    """The file stays, without the rights that it lent."""
    await checks.prepare(str(work))
    with _begun(checks, work) as check:
        (work / "tool").touch()
        (work / "tool").chmod(0o4755)
        found = await check.finish()

    assert found == ("tool in the workspace was set-user-ID or similar; the bit was removed",)
    assert (work / "tool").stat().st_mode & 0o7777 == 0o755


async def test_a_repository_that_a_run_makes_is_harmless(checks: Checks, work: Path) -> None:
    """It was not there before, so what git would obey in it is moved away.

    The control: without an earlier scan it may have been the owner's, and is only reported.
    """
    await checks.prepare(str(work))
    with _begun(checks, work) as check:
        made = _repository(work / "new", EVIL)
        found = await check.finish()

    assert not (made / "config").exists()
    assert any(one.startswith("new/.git/config in the workspace appeared") for one in found)

    unprepared = Checks(Protection(PROTECTED))
    with _begun(unprepared, work) as check:
        made = _repository(work / "other", EVIL)
        found = await check.finish()
    unprepared.close()
    assert (made / "config").exists()
    assert any(one.startswith("other/.git/config in the workspace was replaced") for one in found)


async def test_a_repository_that_was_there_is_held_by_the_first_run(
    checks: Checks, work: Path
) -> None:
    """The workspace was scanned before; no second scan happens while it is known."""
    deep = _repository(work / "deep/below")
    await checks.prepare(str(work))
    later = _repository(work / "later")
    await checks.prepare(str(work))
    fd = os.open(work, os.O_PATH | os.O_DIRECTORY)
    with checks.run() as check:
        held = {one.path for one in check.begin(fd, str(work))}
    os.close(fd)

    assert {str((deep / name).relative_to(work)) for name in ("config", "hooks")} <= held
    assert str((later / "config").relative_to(work)) not in held


@pytest.mark.parametrize("protected", [(), (".envrc",)])
async def test_without_git_to_protect_nobody_looks_for_repositories(
    work: Path, protected: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor if there is no workspace, or none that can be opened: the run itself says so."""
    walked: list[object] = []
    monkeypatch.setattr(Checks, "walk", lambda _self, sweep: walked.append(sweep))
    checks = Checks(Protection(protected))
    await checks.prepare(str(work))
    await Checks(Protection(PROTECTED)).prepare(None)
    await Checks(Protection(PROTECTED)).prepare(str(work / "gone"))
    checks.close()

    assert walked == []


async def test_a_run_without_a_workspace_has_nothing_to_be_checked(checks: Checks) -> None:
    """Its check never began, and nothing needs to be closed."""
    with checks.run() as check:
        assert await check.finish() == ()


async def test_what_an_earlier_overlapping_run_made_is_new_for_the_later_one(
    checks: Checks, work: Path
) -> None:
    """Overlapping runs cannot pass it to each other as something that already existed."""
    await checks.prepare(str(work))
    with _begun(checks, work) as first:
        (work / ".envrc").write_text("evil")
        with _begun(checks, work) as second:
            found = await second.finish()
        assert len(found) == 1
        assert not (work / ".envrc").exists()
        assert await first.finish() == ()


async def test_what_stands_before_a_run_begins_is_the_owners(checks: Checks, work: Path) -> None:
    """Even if an earlier run, now over, was scanned: nothing of it is remembered."""
    await checks.prepare(str(work))
    with _begun(checks, work) as check:
        await check.finish()
    (work / ".envrc").write_text("by the owner")
    with _begun(checks, work) as check:
        assert await check.finish() == ()

    assert (work / ".envrc").read_text() == "by the owner"


@pytest.mark.parametrize(("marked", "more"), [(10, 0), (12, 2)])
async def test_many_findings_are_bounded_and_the_rest_is_in_the_log(
    checks: Checks, work: Path, caplog: pytest.LogCaptureFixture, marked: int, more: int
) -> None:
    """Ten are reported, and no name can disguise another among them."""
    await checks.prepare(str(work))
    with _begun(checks, work) as check:
        for number in range(marked):
            (work / f"a{number:02}\x1b[2K").touch()
            (work / f"a{number:02}\x1b[2K").chmod(0o4755)
        found = await check.finish()

    rest = [f"{more} more such files are in the gateway's log"] if more else []
    assert list(found[10:]) == rest
    assert "\x1b" not in "".join(found)
    assert len(caplog.messages) == marked


async def test_a_large_workspace_is_walked_to_its_end_all_the_same(
    checks: Checks, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What does not fit into the moment before a run continues in a thread."""
    monkeypatch.setattr(workspace_check, "_AT_ONCE_S", 0)
    _repository(work / "deep/below")
    await checks.prepare(str(work))

    (known,) = checks._known.values()
    assert known.complete
    assert known.git_folders == {".git", "deep/below/.git"}


async def test_a_look_that_was_cut_short_replaces_no_whole_one(
    checks: Checks, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else an earlier repository would be taken for one that a run made."""
    await checks.prepare(str(work))
    monkeypatch.setattr(workspace_check, "_AT_ONCE_S", 0)
    monkeypatch.setattr(workspace_check, "_MOST_S", 0)
    with _begun(checks, work) as check:
        found = await check.finish()

    (known,) = checks._known.values()
    assert known.complete
    assert known.git_folders == {".git"}
    assert any(
        "entries of the workspace were looked through for such marks" in one for one in found
    )


async def test_only_so_many_workspaces_are_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The oldest one in which nothing runs gives way; one with a run in it stays."""
    monkeypatch.setattr(workspace_check, "_MOST_KNOWN", 2)
    checks = Checks(Protection(PROTECTED))
    folders = [tmp_path / name for name in "abcd"]
    for one in folders:
        one.mkdir()
    with _begun(checks, folders[0]):
        for one in folders[1:]:
            await checks.prepare(str(one))
        known = set(checks._known)
    checks.close()

    assert known == {(one.stat().st_dev, one.stat().st_ino) for one in (folders[0], folders[3])}
