"""Cut a text into what may be its commands, without losing any of its words."""

import re

from hypothesis import given
from hypothesis import strategies as st

from core.shell.unread_commands import UNCERTAIN, Fragment, cut
from tests.support.tables import rows


@rows(
    "text, fragments, within",
    [
        ("sh < notes >log 2>&1", [Fragment(("sh",), ("notes",), ("log", "1"))], []),
        ("s''h -c \"a b\"", [Fragment(("sh", "-c", "a b"))], []),
        ("\\sh a\\ b", [Fragment(("sh", "a b"))], []),
        ("a; b && c | d & e", [Fragment((one,)) for one in "abcde"], []),
        ("a # b 'c\nd", [Fragment(("a",)), Fragment(("d",))], []),
        ('eval "$(cat notes)"', [Fragment(("eval", UNCERTAIN))], ["cat notes"]),
        ("bash <(cat notes) x", [Fragment(("bash", UNCERTAIN, "x"))], ["cat notes"]),
        ("a `b \\`c\\``", [Fragment(("a", UNCERTAIN))], ["b `c`"]),
        ("${x:-$(b)}/c", [Fragment((f"{UNCERTAIN}/c",))], ["$(b)"]),
        ("a $((1 + 2))", [Fragment(("a", UNCERTAIN))], []),
        ('"$(echo "a)b")" c', [Fragment((UNCERTAIN, "c"))], ['echo "a)b"']),
        ("$'s\\x68' a", [Fragment((UNCERTAIN, "a"))], []),
        ("~/x $HOME/y ${HOME}/z", [Fragment(("/h/x", "/h/y", "/h/z"))], []),
        ("sh <<< 'a b'", [Fragment(("sh",), ("a b",))], []),
        ("sh no\\\ntes \\\n -x", [Fragment(("sh", "notes", "-x"))], []),
        ("sh a\\\n#b", [Fragment(("sh", "a#b"))], []),
        ("sh 3<a", [Fragment(("sh",), ("a",))], []),
    ],
)
def test_cutting(text: str, fragments: list[Fragment], within: list[str]) -> None:
    """Quotes, redirections, substitutions and comments, as a shell has them."""
    found = cut(text, {"HOME": "/h"})

    assert found.fragments == fragments
    assert list(found.within) == within


def test_a_here_document_is_no_command() -> None:
    """An apostrophe in it opens no quotes; what it substitutes is a text within."""
    found = cut("cat <<E | sh\nI don't $(sh < notes)\nE\nsh < x")

    assert found.fragments[-1] == Fragment(("sh",), ("x",))
    assert found.fragments[0].documents == ("I don't $(sh < notes)\n",)
    assert list(found.within) == ["$(sh < notes)\n"]


@given(st.text(alphabet="ab \n'\"\\$(){}`<>|&;#~*", max_size=60))
def test_no_text_is_too_odd(text: str) -> None:
    """Whatever a text contains, it is cut to its end, and its letters are somewhere."""
    found = cut(text)
    words = [word for one in found.fragments for word in (*one.words, *one.inputs, *one.outputs)]

    given = [body for one in found.fragments for body in one.documents]
    kept = "".join((*words, *found.within, *given))
    if not re.search(r"[$#`\\<]", text):
        assert sorted(re.findall("[ab]", kept)) == sorted(re.findall("[ab]", text))


def test_what_may_replace_a_variable_is_kept() -> None:
    """A shell may put it there, and programs decode a text with escapes."""
    assert cut("sh ${x:-notes}").spare == ["notes"]
    assert cut("sh ${x/a/sub/notes}").spare == ["a/sub/notes", "notes"]
    assert cut('"${x[0]:+notes}" $((1))').spare == ["notes"]
    assert cut("$'a\\n' $'b'").spare == ["a\\n"]


def test_a_long_nested_text_is_cut_in_time() -> None:
    """Its depth costs nothing that grows faster than its length."""
    assert cut("$(" * 30_000).fragments == [Fragment((UNCERTAIN,))]


def test_what_is_repeated_is_read_once() -> None:
    """Reading each of 4,000 equal substitutions takes as long as a run."""
    assert list(cut("$(a)" * 4_000).within) == ["a"]
