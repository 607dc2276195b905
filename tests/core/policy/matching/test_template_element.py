"""Check what the templates of rules accept and refuse, word by word."""

from fnmatch import fnmatchcase
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import ConfigError
from core.policy.matching.argv_template import ArgvTemplate
from core.policy.matching.template_element import Surroundings
from tests.support.tables import rows

HERE = Surroundings("/srv/app")


def fits(element: str, word: str) -> bool:
    """Return whether an element of a rule that allows takes a word."""
    return ArgvTemplate.of_rule([element]).fits([word], HERE)


def may_fit(element: str, word: str) -> bool:
    """Return whether an element of a rule that forbids is about a word."""
    return ArgvTemplate.of_rule([element]).may_fit([word], HERE)


@rows(
    "element, good, bad",
    [
        ("<GLOB:--force*>", ["--force", "--force-with-lease"], ["--Force", "-force", "x--force"]),
        ("<GLOB:*.py>", ["a.py", ".py", "a b.py", "\u00e9.py"], ["-a.py", "a.pyc", "a\n.py", ""]),
        ("<GLOB:?x>", ["ax"], ["-x", "x", "abx", "\u202ex"]),
        ("<GLOB:src/*/t.[ch]>", ["src/a/t.[ch]", "src//t.[ch]"], ["src/a/t.c"]),
        ("<GLOB:*>", ["a", "", "a" * 4096], ["-a", "-", "a\0", "a\tb", "a" * 4097]),
        ("<GLOB:a*b*c>", ["abc", "aXbYc", "abcbc"], ["acb", "abcX", "ab\nc"]),
        (
            "<GLOB:t*/*.py>",
            ["t/a..py", "t/..a/b.py"],
            ["t/../b.py", "t/a/../../b.py", "t../../a.py"],
        ),
        ("<GLOB:../t*>", ["../t", "../t/../u"], ["./t"]),
    ],
)
def test_a_glob_takes_whole_printable_words(element: str, good: list[str], bad: list[str]) -> None:
    """No wildcard at its beginning matches an option; brackets and case mean themselves."""
    assert [word for word in good if not fits(element, word)] == []
    assert [word for word in bad if fits(element, word)] == []


@given(st.text("ab*?-", min_size=1, max_size=6), st.text("ab-\n", max_size=8))
def test_a_glob_agrees_with_fnmatch(pattern: str, word: str) -> None:
    """Whatever fits is what the standard library would match; a rule that forbids takes all."""
    element = f"<GLOB:{pattern}>"
    matched = fnmatchcase(word, pattern)
    assert may_fit(element, word) is matched
    assert matched or not fits(element, word)
    if matched and word.isprintable() and not word.startswith("-"):
        assert fits(element, word)


def test_a_long_word_against_many_wildcards_takes_no_long_time() -> None:
    """A rule that forbids matches an overlong word, so it is judged at once and never slips by."""
    many = "<GLOB:" + "*a" * 60 + "b>"
    assert not fits(many, "a" * 4096)
    assert may_fit(many, "a" * 200_000)


@rows(
    "element, advice",
    [
        ("<GLOB>", "<GLOB:pattern>"),
        ("<GLOB:>", "<GLOB:pattern>"),
        ("x<GLOB:a*>", "<GLOB:pattern>"),
        ("<GLOB:a><GLOB:b>", "<GLOB:pattern>"),
        ("<REST:all>", "<REST:any>"),
        ("x<REST>", "<REST:any>"),
        ("<HOST>", "<HOST:local>"),
        ("http://<HOST:lan>/", "<HOST:local>"),
        ("<HOST:local>.evil", "must end the word or precede"),
        ("<HOST:local>@evil", "must end the word or precede"),
        ("<HOST:local><PORT>", "must end the word or precede"),
        ("http://<HOST:local>:<PORT>0/", "must end the word or precede"),
        ("http://<HOST:local>:<PORT>@evil/", "must end the word or precede"),
        ("/x<QUERY>/y", "must be at the end"),
        ("http://h<URL_PATH><PORT>", "must end the word or precede"),
        ("x<PORT><NAME>", "Inside a word write"),
        ("<PORT", None),
        ("x<MESSAGE>", "<MESSAGE>"),
        ("<NAME>…", "cannot be repeated"),
        ("x<PATH>...", "cannot be repeated"),
        ("<PATH:none>…", "names no root"),
    ],
)
def test_an_ill_written_template_says_what_to_write(element: str, advice: str | None) -> None:
    """The mistake stops the load and names the right form; half a bracket is a literal."""
    if advice is None:
        assert ArgvTemplate.of_rule(["x", element]).literal
        return
    with pytest.raises(ConfigError, match=advice):
        ArgvTemplate.of_rule(["x", element])


LOCAL = "http://<HOST:local>:<PORT><URL_PATH><QUERY>"
HOSTS = ["localhost", "127.0.0.1", "127.1.2.3", "127.255.255.255", "[::1]"]
ODD_HOSTS = [
    "LOCALHOST",
    "localhost.",
    "localhost.evil.com",
    "evil.com",
    "127.1",
    "127.0.1",
    "127.0.0.01",
    "0177.0.0.1",
    "0x7f.0.0.1",
    "2130706433",
    "127.0.0.256",
    "127.0.0.1.evil.com",
    "127.0.0.\u0661",
    "\uff11\uff12\uff17.0.0.1",
    "\u24db\u24deocalhost",
    "128.0.0.1",
    "0.0.0.0",
    "::1",
    "[::]",
    "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]",
    "[::1%25lo]",
    "a@localhost",
    "localhost@evil.com",
    "evil.com#@localhost",
    "local%68ost",
    "localhost ",
    "localhost\n",
    "",
]


@pytest.mark.parametrize("host", HOSTS)
def test_a_local_host_has_one_spelling_for_each_address(host: str) -> None:
    """With a port and a path, or alone."""
    assert fits("<HOST:local>", host)
    assert fits(LOCAL, f"http://{host}:8080/a?b=c")
    assert fits("<HOST:local>:<PORT>", f"{host}:1")


@rows("host", ODD_HOSTS)
def test_no_other_host_is_local(host: str) -> None:
    """Short, octal, hexadecimal and mapped addresses, other scripts, user names, other cases."""
    assert not fits("<HOST:local>", host)
    assert not fits(LOCAL, f"http://{host}:8080/a?b=c")
    assert not fits("<HOST:local>:<PORT>", f"{host}:1")


@rows(
    "rest",
    [
        "",
        ":",
        ":80",
        ":80@evil/",
        ":80#@evil/",
        ":80?@evil/",
        ":80\\@evil/",
        ":80/@evil",
        ":80//evil",
        ":80/a//b",
        ":80/../x",
        ":80/a..b",
        ":80/%2e%2e/",
        ":80/a b",
        ":80/{a,b}",
        ":80/[1-9]",
        ":80/a#b",
        ":80/a\n",
        ":80/a?b\n",
        ":80/a?@evil",
        ":80/a?b=%0d%0aX",
        ":80/a?b=%00",
        ":80/a?b=%2",
        ":80/a?b=%zz",
        ":80/a?b=http://evil",
        ":80/a?{b}",
        ":80/a?[1]",
        ":80/a?b#c",
        ":80/a?b c",
        ":80/a?\u00e9",
        ":80/" + "a" * 258,
        ":80/?" + "a" * 1025,
        ":0/",
        ":00/",
        ":080/",
        ":65536/",
        ":99999/",
        ":100000/",
        ":+80/",
        ":8\u0660/",
        ":\uff18\uff10/",
        ":80:80/",
        ": 80/",
    ],
)
def test_an_address_takes_no_tricks(rest: str) -> None:
    """User names after the host, other hosts, climbing, encodings, globs of curl, long ones."""
    assert not fits(LOCAL, f"http://localhost{rest}")


@pytest.mark.parametrize(
    "rest", ["/", "/api/x", "/?", "/x?y=1&z=a%20b:c,d", "/x?q=2026-01-01T00:00:00+01:00", "/a.b/c"]
)
def test_an_address_takes_paths_and_queries(rest: str) -> None:
    """Or none: a query is optional if the element has it."""
    assert fits(LOCAL, f"http://127.0.0.1:65535{rest}")
    assert not fits(LOCAL, f"https://127.0.0.1:65535{rest}")
    bare = "http://<HOST:local>:<PORT><URL_PATH>"
    assert fits(bare, f"http://127.0.0.1:1{rest}") is ("?" not in rest)


@given(st.one_of(st.integers(-9, 99_999).map(str), st.text("0123456789+- _\u0661", max_size=6)))
def test_a_port_agrees_with_arithmetic(word: str) -> None:
    """Oracle: the canonical numbers from 1 to 65535."""
    canonical = word.isascii() and word.isdigit() and word == str(int(word))
    assert fits("<PORT>", word) is (canonical and 1 <= int(word) <= 65_535)


@given(st.text("lo:/@?#.127[]%\\ \n", max_size=12))
def test_whatever_fits_names_a_local_host(tail: str) -> None:
    """Oracle: the standard library's reading of an address."""
    word = f"http://localhost{tail}"
    if fits(LOCAL, word) or fits("http://<HOST:local><URL_PATH><QUERY>", word):
        assert urlsplit(word).hostname == "localhost"
        assert urlsplit(word).username is None


@pytest.mark.parametrize("word", ["HTTP", "http://x@evil", "http://", "http://127.1/"])
def test_an_address_that_is_forbidden_may_be_spelt_otherwise(word: str) -> None:
    """Whatever begins with the literal may be meant."""
    assert may_fit(LOCAL, word) is word.startswith("http://")
    assert may_fit("<HOST:local>:<PORT>", word)


@rows(
    "word, wanted",
    [
        ("Fix it", True),
        ("Fix it\n\n- one\n\t- two\n", True),
        ("\u00dcber \u2013 \U0001f980", True),
        ("`x` $(y); rm -rf /", True),
        ("a" * 16_384, True),
        ("a" * 16_385, False),
        ("", False),
        ("-m", False),
        ("--amend", False),
        ("a\0b", False),
        ("a\rb", False),
        ("\x1b[2J", False),
        ("a\x7f", False),
        ("a\u202eb", False),
        ("a\u200bb", False),
        ("a\u2028b", False),
    ],
)
def test_a_message_is_text_of_one_or_more_lines(word: str, wanted: bool) -> None:
    """No option, and nothing that a terminal obeys or hides."""
    assert fits("<MESSAGE>", word) is wanted
    assert may_fit("<MESSAGE>", word)


ROOTS = {"work": "/srv/app"}


@pytest.mark.parametrize("repeated", ["<PATH:work>…", "<PATH:work>..."])
def test_a_repeated_path_takes_one_or_more(repeated: str) -> None:
    """Each on its own below the root, between what comes before and after."""
    template = ArgvTemplate.of_rule(["-v", repeated, "<PATH:work>"], ROOTS)
    for words, wanted in (
        (["-v", "a", "b"], True),
        (["-v", "a", "/srv/app/b", "c", "d"], True),
        (["-v", "a"], False),
        (["-v"], False),
        (["-v", "a", "-f", "b"], False),
        (["-v", "a", "../x", "b"], False),
        (["-v", "a", "/etc/x", "b"], False),
        (["-v", "a", "b", "/etc"], False),
        (["a", "b", "c"], False),
    ):
        assert template.fits(words, HERE) is wanted, words


def test_one_of_the_repeated_paths_is_enough_to_forbid() -> None:
    """`rm -rf x /srv/app/y` names a forbidden path, whatever else it contains."""
    template = ArgvTemplate.of_rule(["rm", "<PATH:work>…"], ROOTS)
    elsewhere = Surroundings("/tmp")
    assert template.may_fit(["rm", "-rf", "x", "/srv/app/y"], elsewhere)
    assert not template.may_fit(["rm", "-rf", "x"], elsewhere)
    assert not template.may_fit(["rm"], elsewhere)


@pytest.mark.parametrize(
    "elements", [["<PATH>…", "<PATH>…"], ["<PATH>…", "<REST>"], ["<PATH>…", "x", "<REST:any>"]]
)
def test_one_element_takes_several_words(elements: list[str]) -> None:
    """Where the end of the first of two could not be found."""
    with pytest.raises(ConfigError, match="Two elements"):
        ArgvTemplate.of_rule(elements)


@given(
    st.lists(st.sampled_from([LOCAL, "<MESSAGE>", "<PATH>", "<GLOB:*a>", "<PORT>"]), max_size=2),
    st.sampled_from([[], ["<PATH>…"], ["<REST:any>"], ["<REST>"]]),
    st.lists(st.sampled_from(["a", "80", "-x", "../a", "", "a\nb", f"http://{HOSTS[0]}:1/"])),
)
def test_what_fits_may_also_be_meant(head: list[str], tail: list[str], words: list[str]) -> None:
    """A rule that forbids is about every vector that the same rule would allow."""
    template = ArgvTemplate.of_rule([*head, *tail])
    assert template.may_fit(words, HERE) or not template.fits(words, HERE)
