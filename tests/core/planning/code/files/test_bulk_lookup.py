"""Look up few words and many: the same files are found."""

import os
import random
import string
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from core.files.lookup import is_there
from core.planning.code.files.bulk_lookup import MOST_FOLDERS, TOO_MANY, folders_named, paths_named
from core.planning.paths.pins import HashingLimit, Unpinned, hashing_at_most

NOBODY = 65534
_MANY = tuple(f"w{one}" for one in range(1_000))
"""Words that name nothing, more than are looked up one by one."""


@pytest.mark.parametrize("others", [(), _MANY], ids=["few", "many"])
@pytest.mark.parametrize(
    "word",
    [
        *("x", "./x", ".//./x", "d/x", "./d/x", "d/./x", "d//x", "../{at}/x", "d/../x", "{abs}/x"),
        *("/{abs}/x", "d/deep/er/still/more/x", "link/x", ".hidden", "ä", "x y", "a~1", "x."),
    ],
)
def test_a_file_is_found_whatever_other_words_there_are(
    tmp_path: Path, word: str, others: tuple[str, ...]
) -> None:
    """A folder is listed if there are many; otherwise each word is looked up."""
    (tmp_path / "d" / "deep" / "er" / "still" / "more").mkdir(parents=True)
    (tmp_path / "link").symlink_to("d")
    for name in ("x", "d/x", "d/deep/er/still/more/x", ".hidden", "ä", "x y", "a~1", "x."):
        (tmp_path / name).touch()
    asked = word.format(at=tmp_path.name, abs=tmp_path)

    found = paths_named([str(tmp_path)], (*others, asked))

    assert not isinstance(found, Unpinned)
    there = [one for one in found if Path(one).is_file()]
    assert [os.path.realpath(one) for one in there] == [os.path.realpath(tmp_path / asked)]


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("x", "X"),  # vfat, NTFS, ext4 with casefold
        ("X", "x"),
        ("k", "\u212a"),  # the sign for kelvin
        ("naive", "nai\u0308ve"),
        ("\u0419", "\u0438\u0306"),  # a letter in two ways
        ("x.", "x"),  # vfat
        ("x", "x\u200d"),  # HFS+ and ext4 ignore it
        ("script", "script.js"),  # `node script`
        ("script", "script.TS"),
        ("LONGNA~1", "long name"),
        ("x?y", "x"),  # a URL for Node
        ("pkg/__init__.py", "pkg.py"),  # `python -m pkg`
    ],
)
def test_what_a_file_system_or_a_reader_may_take_for_a_name_is_tried(
    tmp_path: Path, word: str, name: str
) -> None:
    """What is listed only decides where to look."""
    (tmp_path / name).touch()

    found = paths_named([str(tmp_path)], (*_MANY, word))

    assert found == [str(tmp_path / word)]


def test_a_folder_that_cannot_be_listed_is_searched() -> None:
    """Whoever knows a name in it may start it."""
    with TemporaryDirectory() as folder:
        Path(folder, "x").touch()
        Path(folder).chmod(0o711)
        with _acting_as(NOBODY):
            with pytest.raises(PermissionError):
                list(Path(folder).iterdir())
            found = paths_named([folder], (*_MANY, "x"))

    assert isinstance(found, list)
    assert f"{folder}/x" in found


@contextmanager
def _acting_as(uid: int) -> Iterator[None]:
    own = os.geteuid()
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(own)


@pytest.mark.parametrize("others", [(), _MANY], ids=["few", "many"])
@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("a", ["a"]),
        ("a a9", ["a", "a9"]),
        ("a b c", ["a", "a/b", "a/b/c"]),
        ("cd a/b;./x", ["a/b"]),
        ("(cd a)", ["a"]),
        ("cd 'a' && cd \"b\"", ["a", "a/b"]),
        ("--directory=a", ["a"]),
        ("-Ca", ["a"]),
        ("{abs}/a", ["a"]),
        ("a/../a", ["a"]),
        ("loop", []),
        ("out/..", ["out/.."]),
        ("no gone a/x", []),
    ],
)
def test_folders_are_found_within_each_other(
    tmp_path: Path, line: str, names: list[str], others: tuple[str, ...]
) -> None:
    """A text may change to one after another; each counts once."""
    place, elsewhere = tmp_path / "here", tmp_path / "elsewhere" / "away"
    (place / "a" / "b" / "c").mkdir(parents=True)
    elsewhere.mkdir(parents=True)
    (place / "a9").mkdir()
    (place / "a" / "x").touch()
    (place / "loop").symlink_to(".")
    (place / "out").symlink_to(elsewhere)

    found = folders_named(str(place), (" ".join(others), line.format(abs=place)))

    assert isinstance(found, list)
    expected = [str(place), *(f"{place}/{one}" for one in names)]
    assert [one for one in found if not one.endswith("/out")] == expected


def test_the_ninth_folder_is_one_as_well(tmp_path: Path) -> None:
    """As many as any ordinary line names are searched; with more, it cannot be started."""
    words = [f"d{one}" for one in range(MOST_FOLDERS)]
    for one in words:
        (tmp_path / one).mkdir()

    found, more = (folders_named(str(tmp_path), some) for some in (words[1:], words))

    assert isinstance(found, list)
    assert len(found) == MOST_FOLDERS
    assert isinstance(more, Unpinned)
    assert f"more than {MOST_FOLDERS} folders" in more.why


def test_more_than_can_be_looked_up_is_refused(tmp_path: Path) -> None:
    """Each of these may be the short name of a file (vfat)."""
    words = [f"w~{one}" for one in range(9_999)]

    assert isinstance(paths_named([str(tmp_path)], words), list)
    assert paths_named([str(tmp_path)], (*words, "x~1")) is TOO_MANY


def test_lookups_count_as_work(tmp_path: Path) -> None:
    """A short line is planned on the event loop, unless that takes long."""
    words = [f"w~{one}" for one in range(1_000)]
    with hashing_at_most(32 << 20):
        paths_named([str(tmp_path)], words)
    with hashing_at_most(8 << 20), pytest.raises(HashingLimit):
        paths_named([str(tmp_path)], words)


@pytest.mark.parametrize("seed", range(20))
def test_listing_folders_changes_nothing(tmp_path: Path, seed: int) -> None:
    """Among random words in a random tree, no other files are found than one by one."""
    draw = random.Random(seed)
    for _ in range(40):
        path = tmp_path / _random_path(draw)
        if not any(one.is_file() for one in (path, *path.parents)):
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                path.touch()
    words = [_random_path(draw) for _ in range(200)]

    found = paths_named([str(tmp_path)], words)

    assert isinstance(found, list)
    one_by_one = {f"{tmp_path}/{one}" for one in words}
    assert {one for one in found if is_there(one)} == {one for one in one_by_one if is_there(one)}


def _random_path(draw: random.Random) -> str:
    parts = draw.choices([*string.ascii_lowercase[:6], "A", "B", ".", "..", ""], k=3)
    return "/".join(parts).strip("/") or "."
