"""Find where the words of a command lead before it runs, and check again."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import PlanDrift
from core.model.command import UNKNOWN_LEAD
from core.planning.digest import digest_of
from core.planning.paths.symlinks import links_of
from core.planning.verify import verify
from core.policy.matching.path_arguments import LONGEST_PATH
from tests.support.runs import planned, request


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Make files and links of every kind."""
    place = tmp_path / "place"
    (place / "a/b").mkdir(parents=True)
    (place / "a/b/file").touch()
    for name, target in {
        "out": "/etc",
        "-out": "/etc",
        "dangling": "/nowhere/x",
        "a/in": "b",
        "a/up": "../..",
        "chain": "a/up",
        "loop": "loop",
        "proc": "/proc/self/root/etc",
    }.items():
        (place / name).symlink_to(target)
    return place


@pytest.mark.parametrize(
    ("words", "path", "real"),
    [
        ("out/passwd", "out/passwd", "/etc/passwd"),
        ("{}/out/passwd", "out/passwd", "/etc/passwd"),
        ("a/./in//file", "a/in/file", "{}/a/b/file"),
        ("--file=out", "out", "/etc"),
        ("-fout", "out", "/etc"),
        ("-xzfout", "out", "/etc"),
        ("-o-out", "-out", "/etc"),
        ("-- -out", "-out", "/etc"),
        ("of=out", "out", "/etc"),
        ("a/b/file,out,x", "out", "/etc"),
        ("@out", "out", "/etc"),
        ("host:out", "out", "/etc"),
        ("file://{}/out", "out", "/etc"),
        ("dangling", "dangling", "/nowhere/x"),
        ("chain", "chain", "{}/.."),
        ("a/up/x/new", "a/up/x/new", "{}/../x/new"),
        ("proc/shadow", "proc/shadow", "/proc/self/root/etc/shadow"),
        ("out/../x", "out/../x", "/x"),
        ("a/in/../../out", "a/in/../../out", "/etc"),
        ("out/", "out", "/etc"),
        ("loop", "loop", UNKNOWN_LEAD),
    ],
)
def test_what_a_word_may_name_is_followed(words: str, path: str, real: str, place: Path) -> None:
    """Whole, glued, listed, climbing: the link is found, even if its target does not exist."""
    found = dict(links_of(("x", *words.format(place).split()), str(place)))
    leads = os.path.normpath(real.format(place)) if real else real  # `.` is not meant
    assert leads == found[f"{place}/{path}"]


@pytest.mark.parametrize(
    "words",
    [
        *("a/b/file", "{}/a/b/file", "missing", "a/missing/x", "-l", "--all", ".", "..", "../x"),
        *("https://example.org/out", "/dev/null", "/proc/self/cwd", "outer", "x+out", "~/out"),
    ],
)
def test_what_leads_where_it_reads_is_not_told(words: str, place: Path) -> None:
    """Plain files, options, addresses, missing files, and anything in /proc."""
    assert links_of(("x", words.format(place)), str(place)) == ()


@given(st.lists(st.sampled_from(["out", "a", "in", "up", "..", ".", "b", "file", "", "chain"])))
def test_paths_lead_where_the_kernel_says(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str]
) -> None:
    """What exists is followed as the system follows it (oracle: os.path.realpath)."""
    place = tmp_path_factory.getbasetemp().resolve() / "leads"
    if not place.is_dir():
        (place / "a/b").mkdir(parents=True)
        (place / "a/b/file").touch()
        for name, target in {"out": "/etc", "a/in": "b", "a/up": "../..", "chain": "a/up"}.items():
            (place / name).symlink_to(target)
    word = "/".join(parts)
    if not (place / word).exists():
        return
    found = dict(links_of(("x", word), str(place)))
    straight = os.path.normpath(place / word)
    at = f"{place}/{word}" if word[:1] != "/" else word
    key = at if ".." in parts else straight.replace("//", "/")
    assert os.path.realpath(at) == found.get(key, straight.replace("//", "/"))


def test_words_without_end_are_not_followed_for_ever(place: Path) -> None:
    """Beyond a limit no more pieces are looked up, and the plan says so."""
    words = (",".join(f"a{number}" for number in range(9000)),)
    assert (str(place), UNKNOWN_LEAD) in links_of(("x", *words), str(place))
    assert links_of(("x", *(f"a{number}" for number in range(9000))), str(place)) == ()


def test_no_depth_hides_a_link(tmp_path: Path) -> None:
    """A path that is too long from the root can be opened from its folder, so it is not known."""
    folder, name = tmp_path, "d" * 200
    for _ in range(15):
        folder /= name
    folder.mkdir(parents=True)
    below = f"{name}/" * 6
    found = links_of(("x", f"./{below}"), str(folder))
    assert found == ((str(folder / below), UNKNOWN_LEAD),)
    assert links_of(("x", "x" * 5000, "l" * 300), str(folder)) == ()


def test_a_plan_is_bound_to_where_its_words_lead(place: Path) -> None:
    """Commands, each in its folder, and what wrappers run; the digest contains it."""
    line = "cat out && cd a && cat in && timeout 5 env cat up"
    plan = planned(request(line, cwd=place))
    first, second, third = plan.commands

    assert first.links == ((f"{place}/out", "/etc"),)
    assert second.links == ((f"{place}/a/in", f"{place}/a/b"),)
    assert third.effective[0].links == ((f"{place}/a/up", str(place.parent)),)
    assert digest_of(replace(plan, commands=(replace(first, links=()), *plan.commands[1:]))) != (
        plan.digest
    )
    with verify(plan):
        pass


@pytest.mark.parametrize("line", ["cat {}", "cd a/b && cat ../../{}", "timeout 5 env cat {}"])
@pytest.mark.parametrize("name", ["out", "plain"])
def test_a_link_that_changes_stops_the_run(line: str, name: str, place: Path) -> None:
    """Retargeted, or replacing a file: what was judged is not what would be opened."""
    (place / "plain").touch()
    plan = planned(request(line.format(name), cwd=place))
    with verify(plan):
        pass
    (place / name).unlink()
    (place / name).symlink_to("/root")

    with pytest.raises(PlanDrift, match=f"{name}` leads elsewhere since"):
        verify(plan).__enter__()


def test_a_line_for_a_shell_is_not_followed(place: Path) -> None:
    """Nothing is granted to it by path, so nothing of it can drift."""
    plan = planned(request("cat out | (cat)", cwd=place))

    assert plan.unreadable is not None
    with verify(plan):
        pass


def test_a_path_that_the_kernel_would_not_open_is_nowhere(place: Path) -> None:
    """To the byte, with its NUL; a word that is too long on its own opens nothing (PATH_MAX)."""
    longest = f"{place}/out/" + "./" * ((LONGEST_PATH - 1 - len(f"{place}/out/x")) // 2)
    longest += "x" * (LONGEST_PATH - 1 - len(longest))
    opens, too_long = longest, f"{longest}x"
    assert len(opens) == LONGEST_PATH - 1

    with pytest.raises(FileNotFoundError):
        os.stat(opens)  # noqa: PTH116 - pathlib shortens the path
    with pytest.raises(OSError, match="name too long"):
        os.stat(too_long)  # noqa: PTH116 - pathlib shortens the path
    assert [real for _, real in links_of(("cat", opens), "/")][:1] == [
        f"/etc/{opens.rpartition('/')[2]}"
    ]
    assert links_of(("cat", too_long), "/") == ()
