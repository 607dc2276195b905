import fnmatch
import time

from hypothesis import given
from hypothesis import strategies as st

from core.model.approval import AllowlistEntry
from core.policy.matching.allowlist import Allowlist
from tests.support.plans import listed
from tests.support.tables import rows

SEGMENTS = st.text("abA*?.", min_size=1, max_size=4).filter(lambda part: part not in {".", ".."})
PATTERNS = st.lists(SEGMENTS, min_size=1, max_size=5).map(lambda parts: "/" + "/".join(parts))
NAMES = st.text("abA.", min_size=1, max_size=4).filter(lambda part: part not in {".", ".."})
PATHS = st.lists(NAMES, min_size=1, max_size=5).map(lambda parts: "/" + "/".join(parts))


@rows(
    "pattern, path",
    [
        ("/usr/bin/ls", "/usr/bin/ls"),
        ("/usr/bin/*", "/usr/bin/ls"),
        ("/usr/bin/l?", "/usr/bin/ls"),
        ("/usr/**/ls", "/usr/bin/ls"),
        ("/usr/**/ls", "/usr/ls"),
        ("/usr/**/ls", "/usr/a/b/c/ls"),
        ("/**", "/usr/bin/ls"),
        ("~/Projects/**/bin/rg", "/home/alice/Projects/x/y/bin/rg"),
        ("/opt/Homebrew/bin/RG", "/opt/homebrew/bin/rg"),
        ("/opt/g++", "/opt/g++"),
        ("/opt/[x]", "/opt/[x]"),
        ("/opt/*++", "/opt/g++"),
        ("/tmp/*/tool", "/tmp/a/tool"),
        ("/bin/ls", "/usr/bin/ls"),
        ("/sbin/*", "/usr/sbin/ip"),
    ],
)
def test_a_pattern_covers_the_path(pattern: str, path: str) -> None:
    """Match globs against the whole path, segment by segment, ASCII letters in either case."""
    found = listed(pattern).match([path])
    assert found is not None
    assert found.pattern == pattern


@rows(
    "pattern, path",
    [
        ("ls", "/usr/bin/ls"),
        ("*", "/usr/bin/ls"),
        ("bin/ls", "/usr/bin/ls"),
        ("*/ls", "/bin/ls"),
        ("   ", "/usr/bin/ls"),
        ("", "/usr/bin/ls"),
        ("/usr/bin/*", "/usr/bin/sub/evil"),
        ("/usr/bin/*", "/usr/bin/../../tmp/evil"),
        ("/usr/**", "/usr/../tmp/evil"),
        ("/opt/tools?x/y", "/opt/tools/x/y"),
        ("/usr/bin/g.it", "/usr/bin/gXit"),
        ("/usr/bin/ls", "/usr/bin/lsof"),
        ("/usr/bin/ls", "/home/user/usr/bin/ls"),
        ("/usr/bin/ls", "/usr/bin/ls\n"),
        ("/usr/bin/*", "/usr/bin/ls\n"),
        ("/usr/bin/*", "/usr/bin/l\0s"),
        ("/usr/bin/ls", "/usr/bin/ls "),
        ("/usr/bin/ls", "/usr/bin//ls"),
        ("/usr/bin/ls", "ls"),
        ("~/bin/*", "/home/other/bin/x"),
        ("/opt/[xy]", "/opt/x"),
        ("/opt/k", "/opt/\u212a"),
        ("/opt/s", "/opt/\u017f"),
        ("/usr/../tmp/*", "/tmp/x"),
        ("/usr/bin/ls", "/bin/ls"),
        ("/bin/ls", "/usr/local/bin/ls"),
    ],
)
def test_a_pattern_does_not_cover_the_path(pattern: str, path: str) -> None:
    """Base names, traversal, look-alikes, crossing separators: none of it matches."""
    assert listed(pattern).match([path]) is None


def test_either_path_may_match() -> None:
    """The invoked and the real path are both checked, an exact entry before a wildcard."""
    found = listed("/usr/bin/*", "/usr/bin/mawk").match(["/usr/bin/awk", "/usr/bin/mawk"])
    assert found is not None
    assert found.pattern == "/usr/bin/mawk"


def test_ignored_patterns_are_reported() -> None:
    """A pattern that can never match is reported, with what to write instead."""
    warnings = listed("rg", "bin/rg", "/a/../b", "/usr/bin/ls", "/**").lint()
    assert [w.split()[0] for w in warnings] == ["'rg'", "'bin/rg'", "'/a/../b'", "'/**'"]
    assert "whole path" in warnings[0]


def test_a_home_with_a_wildcard_is_not_expanded() -> None:
    """A home directory named with a star must not turn into a pattern."""
    sly = Allowlist([AllowlistEntry("~/x")], "/home/*")
    assert sly.match(["/home/bob/x"]) is None
    assert "wildcard" in sly.lint()[0]


@given(PATTERNS, PATHS)
def test_the_matcher_agrees_with_a_plain_one(pattern: str, path: str) -> None:
    """The indexed matcher and a recursive one written from the rule give the same answer."""
    wanted = plain_match(pattern.lower()[1:].split("/"), path.lower()[1:].split("/"))
    assert (listed(pattern).match([path]) is not None) == wanted


def plain_match(pattern: list[str], parts: list[str]) -> bool:
    """Match by recursion: ``**`` takes none or more segments."""
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(plain_match(pattern[1:], parts[i:]) for i in range(len(parts) + 1))
    return (
        bool(parts)
        and fnmatch.fnmatchcase(parts[0], pattern[0])
        and plain_match(pattern[1:], parts[1:])
    )


@given(st.lists(PATTERNS, max_size=8), PATHS)
def test_an_index_finds_what_its_patterns_find_alone(patterns: list[str], path: str) -> None:
    """An index of many patterns matches exactly when one of them does."""
    alone = any(listed(pattern).match([path]) for pattern in patterns)
    assert (listed(*patterns).match([path]) is not None) == alone


def test_many_double_stars_do_not_blow_up() -> None:
    """Twelve ``**`` against a deep path that just fails stay fast (a regex takes 0.8 s)."""
    pattern = "/" + "/".join(["**", "a"] * 12) + "/b"
    started = time.thread_time()
    assert listed(pattern).match(["/" + "/".join(["a"] * 24)]) is None
    assert listed("/" + "*a" * 12 + "b").match(["/" + "a" * 200]) is None
    assert time.thread_time() - started < 0.05
