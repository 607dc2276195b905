import os
from pathlib import Path

import pytest

from core.planning.git import folder_listing
from core.planning.git.folder_listing import forget, links_away, listing_of
from tests.support.waiting import wait_until


def test_a_listing_names_links_and_folders(tmp_path: Path) -> None:
    """Tell names, links and folders apart; what is not a folder has no listing."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "link").symlink_to("sub")
    (tmp_path / "file").touch()
    found = listing_of(str(tmp_path))
    assert found is not None
    assert found.names == {"sub", "link", "file"}
    assert found.links == (str(tmp_path / "link"),)
    assert found.folders == (str(tmp_path / "sub"),)
    assert listing_of(str(tmp_path / "file")) is None
    assert listing_of(str(tmp_path / "gone")) is None


def test_a_name_that_a_file_system_may_fold_counts(tmp_path: Path) -> None:
    """Case never hides a name, and one that is not ASCII may be any (CVE-2014-9390)."""
    (tmp_path / "Config").touch()
    found = listing_of(str(tmp_path))
    assert found is not None
    assert found.may_hold("config")
    assert not found.may_hold("commondir")
    (tmp_path / "common\u200bdir").touch()
    found = listing_of(str(tmp_path))
    assert found is not None
    assert found.may_hold("commondir")


def test_a_change_is_seen_whose_time_was_set_back(tmp_path: Path) -> None:
    """A file system's clock ticks: within one tick only ctime's age says that more may come."""
    old = (1_000_000_000, 1_000_000_000)
    for number in range(300):
        (tmp_path / f"a{number}").touch()
        os.utime(tmp_path, ns=old)
        before = listing_of(str(tmp_path))
        (tmp_path / f"b{number}").touch()
        os.utime(tmp_path, ns=old)
        after = listing_of(str(tmp_path))
        assert before is not None
        assert after is not None
        assert after.names - before.names == {f"b{number}"}


@pytest.mark.parametrize(
    "path",
    [
        "config",
        "info/exclude",
        "refs/heads/main",
        "logs/refs/heads/main",
        "rr-cache/0a/thisimage",
        "objects/info/commit-graph",
        "objects/pack/pack-1.pack",
        "objects/17",
        "worktrees/one/HEAD",
        "NOTES_MERGE_WORKTREE/a",
    ],
)
def test_a_link_out_of_a_repository_is_found(tmp_path: Path, path: str) -> None:
    """Wherever git may write; a link that stays inside is not one."""
    place = tmp_path / ".git"
    (place / path).parent.mkdir(parents=True, exist_ok=True)
    (place / path).symlink_to(place / "inside")
    assert list(links_away(str(place))) == []
    (place / path).unlink()
    (place / path).symlink_to("/etc/passwd")
    assert [clause.split("`")[1] for clause in links_away(str(place))] == [str(place / path)]


@pytest.mark.parametrize("path", ["objects/17/0a", "lfs/objects/a", "annex/a", "modules/a/config"])
def test_a_link_where_git_itself_writes_nothing_is_none(tmp_path: Path, path: str) -> None:
    """Loose objects are new files; submodules' repositories are checked where git enters them."""
    place = tmp_path / ".git"
    (place / path).parent.mkdir(parents=True)
    (place / path).symlink_to("/etc/passwd")
    assert list(links_away(str(place))) == []


def walked(place: Path) -> bool:
    """Look for links; return whether nothing is left to read the next time."""
    assert list(links_away(str(place))) == []
    return str(place) in folder_listing._WALKED


@pytest.mark.parametrize("path", ["config", "refs/heads/main", "refs/new/main", "objects/pack/x"])
def test_a_link_is_found_after_a_walk_that_found_none(tmp_path: Path, path: str) -> None:
    """A walk is kept once its folders have settled; a change in any of them repeats it."""
    place = tmp_path / ".git"
    for folder in ("refs/heads", "objects/pack", "objects/17"):
        (place / folder).mkdir(parents=True)
    wait_until("a walk that is kept", lambda: walked(place))
    (place / "objects/17/0a").symlink_to("/etc/passwd")  # git opens none of these for writing
    assert list(links_away(str(place))) == []

    (place / path).parent.mkdir(exist_ok=True)
    (place / path).symlink_to("/etc/passwd")

    assert [clause.split("`")[1] for clause in links_away(str(place))] == [str(place / path)]


def test_another_folder_in_its_place_is_walked_anew(tmp_path: Path) -> None:
    """What was found is bound to the folders themselves, not to their names."""
    place, other = tmp_path / ".git", tmp_path / "other"
    (place / "refs").mkdir(parents=True)
    (other / "refs").mkdir(parents=True)
    (other / "refs/main").symlink_to("/etc/passwd")
    wait_until("a walk that is kept", lambda: walked(place))
    place.rename(tmp_path / "away")
    other.rename(place)

    assert len(list(links_away(str(place)))) == 1


def test_a_walk_over_a_link_is_not_kept(tmp_path: Path) -> None:
    """The target of a link may change without its folder."""
    place = tmp_path / ".git"
    loose = place / "objects/17/0a"
    loose.parent.mkdir(parents=True)
    loose.touch()
    (place / "config").symlink_to("objects/17/0a")
    wait_until(
        "listings that are kept", lambda: folder_listing._looked_up(str(place))[1] is not None
    )
    assert not walked(place)

    loose.unlink()
    loose.symlink_to("/etc/passwd")

    assert len(list(links_away(str(place)))) == 1


def test_only_so_many_walks_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bound on what is kept; what is no longer kept is walked again."""
    monkeypatch.setattr(folder_listing, "_MOST_WALKED", 2)
    forget()
    places = [tmp_path / str(number) for number in range(3)]
    for place in places:
        place.mkdir()
        wait_until("a walk that is kept", lambda: walked(place))  # noqa: B023 - called at once

    assert list(folder_listing._WALKED) == [str(places[2])]
