from posixpath import join, normpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import ConfigError
from core.policy.matching.argv_template import ArgvTemplate
from core.policy.matching.template_element import Surroundings, below, looks_typed
from tests.support.tables import rows

INT = ArgvTemplate.parse(["journalctl", "-n", "<INT>"])
URL = ArgvTemplate.parse(["curl", "http://127.0.0.1:1<URL_PATH>"])


@pytest.mark.parametrize("word", ["1", "9", "100", "999999"])
def test_int_takes_one_to_999999(word: str) -> None:
    """S4: a positive integer 1..999999."""
    assert INT.matches(["journalctl", "-n", word])


@rows(
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
        "1\uff15",
        "²",
        "",
        "all",
    ],
)
def test_int_takes_nothing_else(word: str) -> None:
    """Leading zeros, signs, other scripts and blanks are not an INT."""
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


@rows(
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
    """S4's alphabet contains it; a proxy may read another authority after it."""
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


@rows("mark", [*";|&><`$", "\n", "\0"])
def test_shell_characters_never_match(mark: str) -> None:
    """S4: metacharacters are refused even if the list contains the same word."""
    word = f"a{mark}b"
    if mark not in "<>":
        assert not ArgvTemplate.parse(["echo", word]).matches(["echo", word])
    assert not INT.matches(["journalctl", "-n", word])


@rows(
    "vector",
    [
        ["echo", "<FOO>"],
        ["x", "<int>"],
        ["x", "a<INT>"],
        ["x", "<PATH>"],
        ["x", "<NAME>"],
        ["x", "<ANY>"],
        ["x", "<URL_PATH>z"],
        ["x", "<URL_PATH><URL_PATH>"],
        [],
        [""],
    ],
)
def test_unknown_templates_are_load_errors(vector: list[str]) -> None:
    """A template that is not one of S4's two stops the list from loading."""
    with pytest.raises(ConfigError):
        ArgvTemplate.parse(vector)


def test_a_star_is_a_star() -> None:
    """There are no wildcards in vectors (sudoers lesson)."""
    assert not ArgvTemplate.parse(["cat", "/var/log/*"]).matches(["cat", "/var/log/x"])


HERE = Surroundings("/srv/app", {"/srv/app/link": "/etc/shadow"})
ROOTS = {"data": "/srv/data"}
TYPED = ("<INT>", "<URL_PATH>", "<PATH>", "<PATH:data>", "<NAME>", "<ANY>", "x<URL_PATH>")


def fits(element: str, word: str) -> bool:
    """Return whether a rule's element takes a word in /srv/app."""
    return ArgvTemplate.of_rule([element], ROOTS).fits([word], HERE)


@pytest.mark.parametrize(
    ("element", "good", "bad"),
    [
        ("<INT>", ["1", "999999"], ["0", "x", "", "\u0665"]),
        (
            "<NAME>",
            ["main", "v1.2", "_x", "a-b"],
            ["-x", ".x", "a/b", "a..b", "", "é", "a b", "a\n"],
        ),
        ("<ANY>", ["a b", "a/../b", "x;y", "$(x)"], ["-x", "", "é", "a\n", "a\tb"]),
        (
            "<PATH>",
            ["a", "./a/b", "/srv/app/x", ".", "a..b"],
            [
                "../x",
                "a/../b",
                "/etc/x",
                "/srv/apple",
                "-x",
                "~/x",
                "a=/etc/x",
                "h:/x",
                "@x",
                "link",
            ],
        ),
        ("<PATH:data>", ["/srv/data/x", "/srv/data"], ["x", "/srv/app/x", "/srv/data/../app"]),
    ],
)
def test_a_rules_templates_take_what_they_say(
    element: str, good: list[str], bad: list[str]
) -> None:
    """Typed, ASCII, whole words; no path leaves its folder, no word becomes an option."""
    assert [word for word in good if not fits(element, word)] == []
    assert [word for word in bad if fits(element, word)] == []


@given(st.sampled_from(TYPED), st.text(max_size=40))
def test_a_template_never_takes_an_option_or_another_script(element: str, word: str) -> None:
    """Whatever is taken is printable ASCII and cannot be read as an option."""
    if fits(element, word):
        assert word.isascii()
        assert word.isprintable()
        assert not word.startswith("-")


@given(st.lists(st.sampled_from(["/", "..", ".", "a", "srv", "app", "data", "link", "-", " "])))
def test_a_path_stays_below_its_folder(parts: list[str]) -> None:
    """Nothing that PATH accepts normalises to a place outside (oracle: posixpath)."""
    word = "".join(parts)
    path = normpath(join(HERE.cwd, word))
    if fits("<PATH>", word):
        assert below(HERE.cwd, HERE.real.get(path, path))
    if fits("<PATH:data>", word):
        assert below(ROOTS["data"], path)


@given(st.lists(st.sampled_from([*TYPED, "a", "-x"]), max_size=3), st.lists(st.text(max_size=8)))
def test_what_fits_may_also_be_meant(elements: list[str], words: list[str]) -> None:
    """A rule that forbids is about every vector that the same rule would allow."""
    template = ArgvTemplate.of_rule(elements, ROOTS)
    assert template.may_fit(words, HERE) or not template.fits(words, HERE)


def test_a_link_into_a_forbidden_folder_may_be_meant() -> None:
    """A rule that forbids a folder is about a bound link that leads there."""
    forbidden = ArgvTemplate.of_rule(["<PATH:etc>"], {"etc": "/etc"})
    assert forbidden.may_fit(["link"], HERE)
    assert not forbidden.may_fit(["other"], HERE)


def test_a_root_behind_a_link_counts_by_both_its_names() -> None:
    """What either names is below it, what leads out of it is not."""
    rooted = ArgvTemplate.of_rule(["<PATH:run>"], {"run": "/var/run"}, lambda path: path[4:])
    at = Surroundings("/run", {"/var/run/x": "/run/x", "/run/l": "/etc", "/var/run/l": "/etc"})
    for word in ("x", "/run/x", "/var/run/x"):
        assert rooted.fits([word], at)
    for word in ("l", "/var/run/l", "/var/x"):
        assert not rooted.fits([word], at)
        assert rooted.may_fit([word], at) is (word != "/var/x")


def test_a_word_that_climbs_behind_a_link_may_be_meant() -> None:
    """A rule that forbids a folder is about `link/../x` where that really leads."""
    forbidden = ArgvTemplate.of_rule(["<PATH:etc>"], {"etc": "/etc"})
    assert forbidden.may_fit(["l/../x"], Surroundings("/srv", {"/srv/l/../x": "/etc/x"}))
    assert not forbidden.may_fit(["l/../x"], Surroundings("/srv", {"/srv/l": "/etc"}))


@given(st.lists(st.text(max_size=8), max_size=4))
def test_literals_mean_themselves(words: list[str]) -> None:
    """A vector of plain words fits itself alone, shell characters included."""
    if any(looks_typed(word) for word in words):
        return
    template = ArgvTemplate.of_rule(words)
    assert template.literal
    assert template.fits(words, HERE)
    assert not template.fits([*words, "x"], HERE)
    assert not words or not template.fits([*words[:-1], f"{words[-1]}x"], HERE)


@pytest.mark.parametrize(
    "element", ["<FOO>", "<PATH:none>", "a<NAME>", "<NAME>s", "<ANY><ANY>", "<>"]
)
def test_unknown_templates_of_rules_are_load_errors(element: str) -> None:
    """So is a root that the configuration does not name."""
    with pytest.raises(ConfigError):
        ArgvTemplate.of_rule(["x", element], ROOTS)
