import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import ConfigError
from core.policy.templates import ArgvTemplate

INT = ArgvTemplate.parse(["journalctl", "-n", "<INT>"])
URL = ArgvTemplate.parse(["curl", "http://127.0.0.1:1<URL_PATH>"])


@pytest.mark.parametrize("word", ["1", "9", "100", "999999"])
def test_int_takes_one_to_999999(word: str) -> None:
    """S4: a positive integer 1..999999."""
    assert INT.matches(["journalctl", "-n", word])


@pytest.mark.parametrize(
    "word",
    [
        "0",
        "01",
        "-1",
        "+5",
        "1000000",
        "5.0",
        "1e3",
        "0x10",
        "1_0",
        "5\n",
        " 5",
        "\u0665",
        "\uff15",
        "²",
        "",
        "all",
    ],
)
def test_int_takes_nothing_else(word: str) -> None:
    """Leading zeros, signs, other scripts and blanks are no INT."""
    assert not INT.matches(["journalctl", "-n", word])


@given(st.text())
def test_int_agrees_with_arithmetic(word: str) -> None:
    """Whatever INT accepts is the canonical spelling of a number in its range."""
    if INT.matches(["journalctl", "-n", word]):
        assert word == str(int(word))
        assert 1 <= int(word) <= 999_999


@pytest.mark.parametrize("path", ["/", "/a/b_c-d.e/F9", "/a.b/.well-known/x", "/" + "a" * 256])
def test_url_path_takes_its_alphabet(path: str) -> None:
    """S4: an absolute path of at most 257 characters."""
    assert URL.matches(["curl", f"http://127.0.0.1:1{path}"], strict=True)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "a",
        "/../x",
        "/a..b",
        "/a?x",
        "/a b",
        "@evil/",
        ".evil/a",
        "/" + "a" * 257,
        "/{a}",
        "/é",
        "/a\n",
        "/a;b",
    ],
)
def test_url_path_takes_nothing_else(path: str) -> None:
    """User info, other hosts, queries, globs of curl and long paths are refused."""
    assert not URL.matches(["curl", f"http://127.0.0.1:1{path}"])


def test_a_double_slash_is_refused_under_strict_trust_only() -> None:
    """S4's alphabet holds it; a proxy may read another authority after it."""
    argv = ["curl", "http://127.0.0.1:1//evil/a"]
    assert URL.matches(argv)
    assert not URL.matches(argv, strict=True)


@pytest.mark.parametrize(
    "argv",
    [
        ["journalctl", "-n", "5", "x"],
        ["journalctl", "-n"],
        ["-n", "journalctl", "5"],
        ["journalctl -n", "5"],
        ["JOURNALCTL", "-n", "5"],
        ["./journalctl", "-n", "5"],
        [],
    ],
)
def test_vectors_are_compared_element_by_element(argv: list[str]) -> None:
    """Count, order, case and boundaries of elements all count."""
    assert not INT.matches(argv)


@pytest.mark.parametrize("mark", [*";|&><`$", "\n", "\0"])
def test_shell_characters_never_match(mark: str) -> None:
    """S4: metacharacters are refused even where the list holds the same word."""
    word = f"a{mark}b"
    if mark not in "<>":
        assert not ArgvTemplate.parse(["echo", word]).matches(["echo", word])
    assert not INT.matches(["journalctl", "-n", word])


@pytest.mark.parametrize(
    "vector",
    [
        ["echo", "<FOO>"],
        ["x", "<int>"],
        ["x", "a<INT>"],
        ["x", "<URL_PATH>z"],
        ["x", "<URL_PATH><URL_PATH>"],
        [],
        [""],
    ],
)
def test_unknown_templates_are_load_errors(vector: list[str]) -> None:
    """A template that is not one of the two stops the list from loading."""
    with pytest.raises(ConfigError):
        ArgvTemplate.parse(vector)


def test_a_star_is_a_star() -> None:
    """There are no wildcards in vectors (sudoers lesson)."""
    assert not ArgvTemplate.parse(["cat", "/var/log/*"]).matches(["cat", "/var/log/x"])
