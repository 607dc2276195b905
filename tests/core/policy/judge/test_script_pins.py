"""Hold what allow-always stores about a script to the script that people saw (decision 21)."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from core.model.approval import AllowlistEntry
from core.model.command import PinnedFile, PlannedCommand
from core.model.decision import Decision, Evaluation, Promise, Reason
from core.model.identity import AgentId, SessionKey
from core.model.policy import Trust
from core.policy.judge.evaluate import evaluate
from core.policy.judge.preview import Earlier, History
from core.policy.matching.allowlist import Allowlist
from core.policy.matching.allowlist_union import Either
from core.policy.matching.template_element import Surroundings
from tests.support.plans import LISTED, listed, pinned, plan_of, wrapped

PYTHON = "/usr/bin/python3.11"
SEEN, OTHER = "a" * 64, "b" * 64
P = {"/work/p.py": SEEN}


def pin(path: str, digest: str = SEEN) -> PinnedFile:
    """Return the pin of a file with this content."""
    return PinnedFile(path, path, 1, 1, 1, digest)


def running(
    *argv: str, path: str = PYTHON, code: Mapping[str, str] = P, digest: str = SEEN
) -> PlannedCommand:
    """Return a command that reads code from files; ``digest`` is its program's."""
    operands = tuple(pin(*one) for one in code.items())
    return PlannedCommand(argv, pin(path, digest), operands=operands)


def judged(command: PlannedCommand, *entries: str | Promise) -> Evaluation:
    """Return the verdict on one command."""
    return evaluate(plan_of(command), LISTED, listed(*entries))


SCRIPT = running("python3", "p.py")
CHANGED = running("python3", "p.py", code={"/work/p.py": OTHER})
SHELL = {"/usr/bin/dash": SEEN}
OWN = running("./x.sh", "1", path="/work/x.sh", code=SHELL)


def test_a_script_is_held_to_its_content() -> None:
    """The prompt says it, the same content passes, and another one asks and is named."""
    (promise,) = judged(SCRIPT).promise
    assert Promise(PYTHON, ("p.py",), (("/work/p.py", SEEN),)) == promise
    assert f"{PYTHON} p.py exactly, while /work/p.py stays as it is" == promise.words
    same, other = judged(SCRIPT, promise), judged(CHANGED, promise)
    assert (same.decision, same.segments[0].entries) == (Decision.ALLOW, (promise.words,))
    assert (other.decision, other.reason) == (Decision.ASK, Reason.NOT_LISTED)
    assert "/work/p.py changed since it was allowed always" == other.segments[0].rule
    assert "/work/p.py changed" in other.why


def test_always_anew_covers_the_new_content() -> None:
    """What is offered for a changed script suffices for it, and not for what it was."""
    (promise,) = judged(CHANGED, *judged(SCRIPT).promise).promise
    assert judged(CHANGED, promise).decision is Decision.ALLOW
    assert judged(SCRIPT, promise).decision is Decision.ASK


def test_a_program_that_is_a_script_is_held_to_its_content() -> None:
    """Its path covers any arguments, while it is unchanged."""
    (promise,) = judged(OWN).promise
    assert "/work/x.sh, while it stays as it is" == promise.words
    assert judged(replace(OWN, argv=("./x.sh", "2")), promise).decision is Decision.ALLOW
    changed = judged(replace(OWN, executable=pin("/work/x.sh", OTHER)), promise)
    assert changed.decision is Decision.ASK
    assert "/work/x.sh changed since" in changed.why
    binary = PlannedCommand(("./x.sh",), pin("/work/x.sh", OTHER))
    assert judged(binary, promise).decision is Decision.ASK


def test_an_interpreter_of_ones_own_is_held_to_its_content() -> None:
    """Both files are named, and each of them must be unchanged."""
    both = running("./x.sh", path="/work/x.sh", code={"/work/bin/tool": SEEN})
    (promise,) = judged(both).promise
    assert promise.words.endswith("while /work/x.sh and /work/bin/tool stay as they are")
    assert judged(both, promise).decision is Decision.ALLOW
    swapped = running("./x.sh", path="/work/x.sh", code={"/work/bin/tool": OTHER})
    assert "/work/bin/tool changed since" in judged(swapped, promise).why


@pytest.mark.parametrize(
    "command",
    [
        running("update-foo", path="/usr/sbin/update-foo", code={"/usr/bin/perl": SEEN}),
        running("guile", "/usr/share/a.scm", path="/usr/bin/guile", code={"/usr/share/a.scm": "c"}),
        PlannedCommand(("./tool",), pin("/work/tool")),
    ],
)
def test_what_runs_no_script_of_ones_own_is_stored_as_before(command: PlannedCommand) -> None:
    """The administrator's scripts, and programs that are not scripts, are held to their path."""
    (promise,) = judged(command).promise
    assert not promise.content
    assert judged(command, promise).decision is Decision.ALLOW


def test_a_local_program_is_not_the_administrators() -> None:
    """What is in /usr/local is held to its content, like everything else."""
    local = running("tool", path="/usr/local/bin/tool", code=SHELL)
    assert (("/usr/local/bin/tool", SEEN),) == judged(local).promise[0].content


def test_a_script_in_another_folder_asks() -> None:
    """The same words mean another file there, and that one did not change."""
    (promise,) = judged(SCRIPT).promise
    elsewhere = running("python3", "p.py", code={"/evil/p.py": SEEN})
    found = judged(elsewhere, promise)
    assert found.decision is Decision.ASK
    assert "changed" not in found.why
    both = (promise, *found.promise)
    assert {judged(one, *both).decision for one in (SCRIPT, elsewhere)} == {Decision.ALLOW}
    assert judged(CHANGED, *both).decision is Decision.ASK


@pytest.mark.parametrize("entry", ["/work/*", "/work/x.sh", Promise("/work/x.sh", ("1",))])
def test_what_people_wrote_by_hand_covers_any_content(entry: str | Promise) -> None:
    """An entry without content counts as before, also next to one with another content."""
    changed = replace(OWN, executable=pin("/work/x.sh", OTHER))
    (promise,) = judged(OWN).promise
    assert judged(changed, promise).decision is Decision.ASK
    assert judged(changed, promise, entry).decision is Decision.ALLOW


def test_what_a_wrapper_runs_is_held_to_its_content() -> None:
    """`timeout 5 python3 p.py` stores what `python3 p.py` needs, and asks when that changes."""
    bare = wrapped("timeout", "5", "python3", "p.py", find=lambda name: pinned(f"/usr/bin/{name}"))
    around = replace(bare, inner=(replace(bare.inner[0], operands=SCRIPT.operands),))
    later = replace(bare, inner=(replace(bare.inner[0], operands=CHANGED.operands),))
    (promise,) = judged(around).promise
    assert Promise("/usr/bin/python3", ("p.py",), (("/work/p.py", SEEN),)) == promise
    assert judged(around, promise).decision is Decision.ALLOW
    found = judged(later, promise)
    assert found.decision is Decision.ASK
    assert "/work/p.py changed since it was allowed always (through timeout)" in found.why


def test_code_that_an_entry_does_not_name_is_not_covered() -> None:
    """With any arguments, a program must not also get to read another script."""
    program = "/usr/bin/some-reader"
    one = running("some-reader", "p.py", path=program)
    more = running("some-reader", "-l", "evil.py", "p.py", path=program, code={**P, "/e.py": SEEN})
    (promise,) = judged(one).promise
    assert promise.argv is None
    assert judged(one, promise).decision is Decision.ALLOW
    asked = judged(more, promise)
    assert asked.decision is Decision.ASK
    assert "allowed always without /e.py" in asked.why


def test_nothing_is_offered_for_code_that_is_not_there_yet() -> None:
    """What has no content cannot be held to it; its writer would choose what runs."""
    missing = replace(SCRIPT, operands=(), absent=("/work/p.py",))
    assert judged(missing).decision is Decision.ASK
    assert () == judged(missing).promise


NO_MODULE = running("python3", "-m", "x", code={})
MODULE = running("python3", "-m", "x", code={"/work/x.py": SEEN})


def test_what_was_allowed_without_code_asks_when_there_is_some() -> None:
    """`python3 -m x` was an installed module; an x.py of the folder would run instead of it."""
    (promise,) = judged(NO_MODULE).promise
    assert Promise(PYTHON, ("-m", "x"), ()) == promise
    assert f"{PYTHON} -m x exactly" == promise.words
    assert judged(NO_MODULE, promise).decision is Decision.ALLOW
    found = judged(MODULE, promise)
    assert (found.decision, found.reason) == (Decision.ASK, Reason.NOT_LISTED)
    assert "it was allowed always without /work/x.py" == found.segments[0].rule
    both = (promise, *found.promise)
    assert {judged(one, *both).decision for one in (NO_MODULE, MODULE)} == {Decision.ALLOW}


def test_a_program_that_no_table_knows_is_held_to_no_code() -> None:
    """`torchrun` was allowed with any arguments; a script among them was not shown."""
    bare = PlannedCommand(("torchrun", "--help"), pin("/usr/bin/torchrun"))
    (promise,) = judged(bare).promise
    assert Promise("/usr/bin/torchrun", None, ()) == promise
    assert "/usr/bin/torchrun with any arguments" == promise.scope
    assert judged(replace(bare, argv=("torchrun", "-x")), promise).decision is Decision.ALLOW
    script = running("torchrun", "evil.py", path="/usr/bin/torchrun", code={"/e.py": SEEN})
    assert "allowed always without /e.py" in judged(script, promise).why
    assert judged(script, "/usr/bin/torchrun").decision is Decision.ALLOW


def test_what_was_allowed_without_code_asks_for_code_from_a_pipe() -> None:
    """`python3` with nothing to read is harmless; `cat x | python3` runs whatever comes."""
    bare = PlannedCommand(("python3",), pin(PYTHON))
    (promise,) = judged(bare).promise
    assert Promise(PYTHON, (), ()) == promise
    assert judged(bare, promise).decision is Decision.ALLOW
    fed = judged(replace(bare, fed=True), promise)
    assert (fed.decision, fed.promise) == (Decision.ASK, ())
    assert "it was allowed always without code from a pipe" == fed.segments[0].rule
    by_hand = judged(replace(bare, fed=True), Promise(PYTHON, ()))
    assert by_hand.decision is Decision.ALLOW


def test_nothing_is_kept_of_code_that_is_loaded_again() -> None:
    """`node --watch x.js` runs what anyone makes of the file later; by hand it can be allowed."""
    started = running("node", "--watch", "p.py", path="/usr/bin/node")
    (promise,) = judged(started).promise
    assert judged(started, promise).decision is Decision.ALLOW
    watching = judged(replace(started, reloads=True), promise)
    assert (watching.decision, watching.promise) == (Decision.ASK, ())
    assert "it also runs what its code is changed to later" == watching.segments[0].rule
    by_hand = judged(replace(started, reloads=True), Promise("/usr/bin/node", started.argv[1:]))
    assert by_hand.decision is Decision.ALLOW


def test_what_people_wrote_by_hand_covers_any_module() -> None:
    """Without `content` an entry means whatever is there."""
    assert judged(MODULE, Promise(PYTHON, ("-m", "x"))).decision is Decision.ALLOW


@pytest.mark.parametrize("trust", Trust)
def test_an_interpreter_is_not_covered_by_a_script(trust: Trust) -> None:
    """A manual entry for any arguments is one by path: strict trust checks the arguments."""
    entry = listed(Promise(PYTHON, None, tuple(P.items())))
    found = evaluate(plan_of(SCRIPT), replace(LISTED, trust=trust), entry)
    assert (found.decision is Decision.ALLOW) is (trust is Trust.CLASSICAL)


@pytest.mark.parametrize(
    "loose",
    [Promise("/work/*", None, (("/work/x.sh", SEEN),)), Promise(PYTHON, ("<ANY>",), (*P.items(),))],
)
def test_content_goes_with_one_program_and_literal_words(loose: Promise) -> None:
    """An entry that could mean several commands is ignored, and a warning says so."""
    allowlist = listed(loose)
    assert "is ignored" in allowlist.lint()[0]
    assert not allowlist.binds


def test_many_scripts_with_the_same_words_are_found_at_once() -> None:
    """Ten thousand folders with their own `p.py` leave one entry to check."""
    names = [f"/work/{number}/p.py" for number in range(10_000)]
    entries = [AllowlistEntry(PYTHON, None, ("p.py",), ((name, SEEN),)) for name in names]
    allowlist = Allowlist(entries, "/home/alice")
    found = list(allowlist.bound([PYTHON], ("p.py",), [PYTHON, names[7_000]]))
    assert [entries[7_000]] == found


def test_entries_with_content_do_not_count_without_it() -> None:
    """Nothing else that looks entries up may find them."""
    allowlist = listed(*judged(OWN).promise, *judged(SCRIPT).promise)
    assert allowlist.match(["/work/x.sh"]) is None
    assert allowlist.exact(["/work/x.sh"]) is None
    assert allowlist.match_vector([PYTHON], ("p.py",), Surroundings("/work")) is None


def test_two_lists_are_one() -> None:
    """What is granted for a while is next to an agent's own entries, and either covers."""
    own, none = listed(*judged(SCRIPT).promise), listed()
    for both in (Either(own, none), Either(none, own)):
        assert evaluate(plan_of(SCRIPT), LISTED, both).decision is Decision.ALLOW
        assert "changed since" in evaluate(plan_of(CHANGED), LISTED, both).why


def test_a_preview_counts_the_same_content() -> None:
    """Among past questions, it would have matched what ran the same script."""
    past = [
        Earlier("python3 p.py", SessionKey("main"), plan_of(one), denied=one is CHANGED)
        for one in (SCRIPT, CHANGED, OWN)
    ]
    (promise,) = judged(SCRIPT).promise
    entry = AllowlistEntry(promise.pattern, None, promise.argv, promise.content)
    history = History(AgentId("main"), past, "/home/alice")
    found = history.preview([entry], listed(), lambda plan, mine: evaluate(plan, LISTED, mine))
    assert (found.looked, found.matched, found.denied) == (3, 1, ())
