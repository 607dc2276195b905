"""Never let a card's sentence say less than a command does: it is more general, or absent.

What an option changes is not in the table's reach, so the rule is reversed: an option that no entry
lists removes the sentence, one that takes a value (a file, a host, a repository, a namespace) adds
words, and what is listed silently is recorded here with its reason.
"""

import re
import shlex

from hypothesis import given
from hypothesis import strategies as st

from core.programs.actions import _actions, said_of
from tests.support.tables import rows

ENTRIES = [
    (name, spelled, action)
    for name, entries in _actions().items()
    for spelled, action in entries.items()
]
IDS = [f"{name} {spelled}".strip() for name, spelled, _ in ENTRIES]

SILENT_VALUES = {
    "text for people": "-m --message --author --date -t --title -b --body --subject",
    "a name for ourselves": "-A --user-agent",
    "who is told": "-l --label -r --reviewer -a --assignee",
    "how much or how often": "--depth -j --jobs -n --iterations --max-time --connect-timeout "
    "--retry -T --timeout --tries -t --time -s --size",
    "which signal": "-s --signal",
    "what time": "-d --date -r --reference -t",
    "less than without it": "-b --branch -u --euid -l --selector --exclude --include --platform",
    "what the words speak of": "-f --filename -k --kustomize",
    "under which name": "--tag",
    "a second factor": "--otp",
    "which key": "-i",
}
"""Options with a value that say nothing, by what their value is."""


def silent(action: object) -> set[str]:
    """Return the options of an entry that take a value and add no words."""
    options = action.options.items()  # type: ignore[attr-defined]
    return {name for name, (added, kinds) in options if "=" in kinds and not added}


@rows("name, spelled, action", ENTRIES)
def test_an_option_with_a_value_says_something(name: str, spelled: str, action: object) -> None:
    """A value may name another place or file; if it does not, the reason is above."""
    reasons = {option for listed in SILENT_VALUES.values() for option in listed.split()}

    assert silent(action) <= reasons, (name, spelled)


def test_no_reason_is_left_over() -> None:
    """The control: each reason is for an option that some entry lists silently."""
    used = set().union(*(silent(action) for _, _, action in ENTRIES))
    reasons = {option for listed in SILENT_VALUES.values() for option in listed.split()}

    assert reasons - used == set()


WORDS = st.text("abcxyz0189./:-+%@{}[]*~", min_size=1, max_size=8)


@st.composite
def lines(draw: st.DrawFn) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Return a program, its subcommand, and words of which some are options of the entry."""
    name, spelled, action = draw(st.sampled_from(ENTRIES))
    known = st.sampled_from(sorted(action.options) or ["-v"])
    parts = draw(st.lists(st.one_of(known, WORDS, WORDS.map("-{}".format)), max_size=5))
    return name, tuple(spelled.split()), tuple(parts)


@given(lines())
def test_a_word_that_is_not_listed_takes_the_sentence_away(
    line: tuple[str, tuple[str, ...], tuple[str, ...]],
) -> None:
    """Whatever looks like an option is listed, is the value of one, or comes after the end."""
    name, subcommand, parts = line
    argv = (name, *subcommand, *parts)
    said = said_of(name, argv)
    action = _actions()[name][" ".join(subcommand)]
    if said is None or action.first:
        return
    for at, word in enumerate(parts):
        before = parts[:at]
        if word == "--" or "--" in before:
            break
        if word.startswith("-") and not _is_value(action, before):
            assert _listed(action, word), (argv, said)


def _is_value(action: object, before: tuple[str, ...]) -> bool:
    options = action.options  # type: ignore[attr-defined]
    last = before[-1] if before else ""
    names = [last] if last in options else [f"-{last[-1:]}"]
    return last[:1] == "-" and any("=" in options[one][1] for one in names if one in options)


def _listed(action: object, word: str) -> bool:
    options = action.options  # type: ignore[attr-defined]
    return word in options or word.partition("=")[0] in options or f"-{word[1:2]}" in options


@given(lines())
def test_every_operand_is_in_the_words_or_counted(
    line: tuple[str, tuple[str, ...], tuple[str, ...]],
) -> None:
    """Places of a sentence are places of the vector, after the subcommand."""
    name, subcommand, parts = line
    said = said_of(name, argv := (name, *subcommand, *parts))
    if said is not None:
        assert said.words.count("{}") == len(said.operands)
        for places in said.operands:
            assert all(len(subcommand) < place < len(argv) for place in places)


UNDERSTATED = (
    "gh pr create --body-file F",
    "gh pr create -R other/repo -f",
    "gh pr merge 3 -R other/repo",
    "kubectl delete pod web -n prod",
    "kubectl apply -n prod -f x",
    "pip install -r https://x.example/r.txt",
    "git push /srv/x.git",
    "git push --all",
    "git fetch --all",
    "git commit -F /etc/passwd",
    "apt-get install jq-",
    "apt-get remove jq+",
    "kill -- -1",
    "kill 0",
    "curl -L https://x.example",
    "cp -a a b",
    "git add -f .env",
    "ssh -A web",
)
PLAIN = {
    "gh pr create": "gh pr create -f",
    "gh pr merge": "gh pr merge 3",
    "kubectl delete": "kubectl delete pod web",
    "kubectl apply": "kubectl apply -f x",
    "pip install": "pip install x",
    "git push": "git push",
    "git fetch": "git fetch",
    "git commit": "git commit -m x",
    "apt-get install": "apt-get install jq",
    "apt-get remove": "apt-get remove jq",
    "kill": "kill 12",
    "curl": "curl https://x.example",
    "cp": "cp a b",
    "git add": "git add .env",
    "ssh": "ssh web",
}


def said(line: str) -> tuple[str, tuple[str, ...]] | None:
    """Return what is said besides the operands: words with blanks, and what options add."""
    argv = tuple(shlex.split(line))
    found = said_of(argv[0], argv)
    return None if found is None else (re.sub(r"\{\}", "", found.words), found.added)


@rows("line", UNDERSTATED)
def test_more_is_said_of_what_does_more(line: str) -> None:
    """Each of these was described like its plain form; the control: that one has a sentence."""
    plain = next(PLAIN[head] for head in PLAIN if f"{line} ".startswith(f"{head} "))

    assert said(plain) is not None
    assert said(line) != said(plain)
