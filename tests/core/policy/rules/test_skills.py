from dataclasses import replace

from core.model.command import PinnedFile
from core.model.decision import Decision, Reason
from core.model.identity import AgentId
from core.policy.judge.evaluate import evaluate
from core.policy.rules.compiled import Compiled, Provisions
from core.policy.rules.skills import skills_of
from tests.core.policy.configured_rules import file_at
from tests.support.plans import LISTED, command, listed, plan_of
from tests.support.tables import rows


def find(name: str) -> PinnedFile | str:
    """Find every name but ``gone`` in /usr/bin; ``alias`` is a link to a shell."""
    if name == "gone":
        return "no executable file `gone` on the search path"
    return file_at(f"/usr/bin/{name}", "/usr/bin/dash" if name == "alias" else "")


@rows(
    "name, why",
    [
        ("gone", "no executable file"),
        ("sh", "a shell"),
        ("alias", "a shell"),
        ("env", "wrapper"),
        ("busybox", "many programs"),
        ("python3", "interpreter"),
        ("node", "interpreter"),
        ("perl", "interpreter"),
        ("tmux", "wrapper"),
        ("apt", "no profile"),
        ("ansible-vault", "no profile"),
        ("./tool", "only names"),
        ("/usr/bin/ls", "only names"),
    ],
)
def test_what_a_path_cannot_vouch_for_is_refused_with_a_warning(name: str, why: str) -> None:
    """Interpreters, shells, wrappers and carriers without a profile are not skill programs."""
    found = skills_of([name, "rg"], find)
    assert list(found.pins) == ["/usr/bin/rg"]
    (line,) = found.lint
    assert repr(name) in line
    assert why in line


def test_a_skill_counts_as_listed_for_agents_that_trust_skills() -> None:
    """``autoAllowSkills`` is per agent; strict trust judges the arguments as usual."""
    held = Compiled(skills=skills_of(["mytool", "git"], find))
    main = AgentId("main")
    for line, skilled, wanted in (
        ("mytool --any", True, Decision.ALLOW),
        ("mytool --any", False, Decision.ASK),
        ("git status", True, Decision.ALLOW),
        ("git push", True, Decision.ASK),
        ("other", True, Decision.ASK),
    ):
        plan = plan_of(command(*line.split()))
        found = evaluate(plan, LISTED, listed(), provisions=held.of(main, skilled=skilled))
        assert found.decision is wanted, line
    plan = plan_of(command("mytool"))
    found = evaluate(plan, LISTED, listed(), provisions=held.of(main, skilled=True))
    assert (found.reason, found.segments[0].rule) == (Reason.SKILL, "the skill mytool")


def test_another_file_of_the_name_is_no_skill() -> None:
    """The pin is the file that was found at the start: path, inode and content."""
    held = Provisions(skills=skills_of(["mytool"], find))
    pin = file_at("/usr/bin/mytool")
    for changed in (
        replace(pin, sha256="1" * 64),
        replace(pin, inode=2),
        file_at("/tmp/mytool"),
    ):
        one = replace(command("mytool"), executable=changed)
        assert evaluate(plan_of(one), LISTED, listed(), provisions=held).decision is Decision.ASK
