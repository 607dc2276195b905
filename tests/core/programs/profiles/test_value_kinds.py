from core.programs.profiles.value_kinds import fits, path_like
from tests.support.tables import rows


@rows("word", ["/etc", "./x", "../x", "~/x", "..", "~", "a/../b", "a/.."])
def test_what_resembles_a_path_is_seen(word: str) -> None:
    """At its beginning, inside, at its end, or as a whole."""
    assert path_like(word)


@rows("word", ["", "/", "a", "a/b", "..a", "a..", "a~", "~a", "1..2", "a/..b"])
def test_other_words_resemble_none(word: str) -> None:
    """A lone slash, a name below another, and dots or a tilde within a word."""
    assert not path_like(word)


@rows(
    "kind, fit, unfit",
    [
        ("text", ["", "a b", "$1"], ["/etc/passwd", "${HOME}", "a\0b"]),
        ("filter", [".env", ".a | inputs", "env1"], ["env", ".a|env", "$ENV.A", "include", "/x"]),
        ("query", [".env", ".a|.b", "inputs1"], ["env", "$ENV.A", "input", ".a | inputs", "/x"]),
        ("awk", ["{print $1}"], ['{system("id")}', '{print > "f"}']),
        ("sed", ["s/a/b/g", "1,3p"], ["s/a/b/e", "w f", "e id"]),
        ("awkcode", ["{print $1}"], ['{system("id")}']),
        ("sedcode", ["s/a/b/g"], ["s/a/b/e", "e id"]),
        ("input", ["", "f", "a/b"], ["/inet/tcp/0/h/80", "a\0b"]),
        ("assignment", ["A=", "a1=b c"], ["=b", "1=b", "a", "A=\0"]),
        ("key", ["a.b", "remote.x.url"], ["edit", "set", "unset", "1.b"]),
        ("gitfile", [".gitmodules", ".git/config", "./.git/a/config"], [".git/../config", "x"]),
        ("pretty", ["%H %s", "%%"], ["%G?", "%-GK", "%(signature)"]),
        ("ref", ["main", "a/b-1.2"], ["-x", "a:b", "https://h/x"]),
        ("repo", ["o/r", "o-1/r.x"], ["o", "h.example/o/r", "o/r/x"]),
        ("endpoint", ["rate_limit", "/repos/o/r?per_page=1"], ["repos/../x", "repos/o/..", "user"]),
        ("resource", ["pods", "deployment/x"], ["secret", "pods,Secrets", "Pod", "-x"]),
        ("local", ["f.tar", "a/b"], ["host:f", "-", ""]),
        ("find", ["-7", "+10k", "u+x", "755"], ["a.b", "-exec", "../x"]),
    ],
)
def test_what_is_of_a_kind_and_what_is_not(kind: str, fit: list[str], unfit: list[str]) -> None:
    """Kinds that keep a program from running others, leaving its folder or naming a host."""
    assert {word: fits(kind, word) for word in fit} == dict.fromkeys(fit, True)
    assert {word: fits(kind, word) for word in unfit} == dict.fromkeys(unfit, False)
