import os
from pathlib import Path

import pytest

from core.runner.listing import links_away, listing_of


def test_a_listing_names_links_and_folders(tmp_path: Path) -> None:
    """Names, links and folders are told apart; what is no folder has no listing."""
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
    """Wherever git may write; a link that stays within is none."""
    place = tmp_path / ".git"
    (place / path).parent.mkdir(parents=True, exist_ok=True)
    (place / path).symlink_to(place / "inside")
    assert list(links_away(str(place))) == []
    (place / path).unlink()
    (place / path).symlink_to("/etc/passwd")
    assert [clause.split("`")[1] for clause in links_away(str(place))] == [str(place / path)]


@pytest.mark.parametrize("path", ["objects/17/0a", "lfs/objects/a", "annex/a", "modules/a/config"])
def test_a_link_where_git_itself_writes_nothing_is_none(tmp_path: Path, path: str) -> None:
    """Loose objects are new files; submodules' repositories are looked at where git enters them."""
    place = tmp_path / ".git"
    (place / path).parent.mkdir(parents=True)
    (place / path).symlink_to("/etc/passwd")
    assert list(links_away(str(place))) == []
