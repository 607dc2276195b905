"""Hold a rule that denies under full security, however a planned line reaches the program."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.model.command import ExecPlan
from core.model.decision import Decision
from core.model.policy import ExecAsk, ExecPolicy, ExecSecurity
from core.planning.planner import Planner
from core.policy.judge.evaluate import evaluate
from tests.core.policy.configured_rules import provisions, rule
from tests.support.gate import request
from tests.support.plans import LISTED, listed
from tests.support.tables import rows

BY_CALL = replace(LISTED, security=ExecSecurity.FULL, ask=ExecAsk.OFF)
"""`/exec security=full`."""
ELEVATED = replace(BY_CALL, skip_approvals=True)
"""`/elevated full`."""
LINES = r"""
uname
/usr/bin/../bin/uname
//usr/bin/uname
un"a"me
u\name
env uname
env A=b nice uname
env -S 'uname -a'
env -S'uname'
env --split-string='uname'
nohup timeout 5 setsid stdbuf -oL uname
ionice -c3 chrt -o 0 taskset 1 uname
flock /tmp/x uname
unshare uname
sh -c uname
sh -c 'exec uname'
bash -lc uname
bash -c 'sh -c uname'
dash -c 'true; uname'
find / -maxdepth 0 -exec uname {} \;
find / -maxdepth 0 -exec sh -c uname {} \;
find / -maxdepth 0 -execdir uname {} \;
find / -maxdepth 0 -ok uname {} \;
xargs uname
echo x | xargs uname
echo uname | xargs -I{} {}
echo uname | xargs -I{} env {}
echo uname | sh
./link
./link-of-link
nice ./link
PATH=. link
env PATH=. link
python3 -c 'import os;os.system("uname")'
perl -e 'exec "uname"'
awk 'BEGIN{system("uname")}'
sed '1e uname' /etc/passwd
tar -cf /dev/null --checkpoint=1 --checkpoint-action=exec=uname /etc/hostname
git -c alias.x='!uname' x
GIT_PAGER=uname git log
BASH_ENV=link bash -c true
command uname
exec uname
eval uname
$(echo uname)
echo $(uname)
cat <(uname)
(uname)
f() { uname; }; f
for i in 1; do uname; done
! uname
true && uname
true | uname
trap uname EXIT
sh script
. ./script
/lib64/ld-linux-x86-64.so.2 /usr/bin/uname
""".strip().splitlines()
SEEN = ("true", "env true", "sh -c true", "find / -maxdepth 0 -exec ls {} +", "true && true")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with links to the program, and a script that starts it."""
    (tmp_path / "link").symlink_to("/usr/bin/uname")
    (tmp_path / "link-of-link").symlink_to("link")
    (tmp_path / "script").write_text("uname\n")
    return tmp_path


def decided(line: str, folder: Path, policy: ExecPolicy, *decide: str) -> Decision:
    """Plan a line as the gate does, and judge it under a rule about uname."""
    plan = Planner().plan(request(line, cwd=folder), policy)
    assert isinstance(plan, ExecPlan), plan
    held = provisions(*(rule(one, glob="/usr/bin/uname") for one in decide))
    return evaluate(plan, policy, listed(), provisions=held).decision


@pytest.mark.parametrize("policy", [BY_CALL, ELEVATED], ids=["exec", "elevated"])
@pytest.mark.parametrize("line", LINES)
def test_no_detour_gets_past_a_rule_that_denies(
    line: str, policy: ExecPolicy, folder: Path
) -> None:
    """Wrappers, carriers, links, the search path, a shell, find and xargs."""
    assert decided(line, folder, policy, "deny") is Decision.DENY


@pytest.mark.parametrize("line", SEEN)
def test_what_cannot_reach_it_runs(line: str, folder: Path) -> None:
    """The control: the rule denies only what it is about or cannot look into."""
    assert decided(line, folder, ELEVATED, "deny") is Decision.ALLOW


@pytest.mark.parametrize("line", ["uname", "env uname", "sh -c uname", "./link", "xargs uname"])
def test_without_the_rule_it_runs(line: str, folder: Path) -> None:
    """The control: full security stops none of this on its own."""
    assert decided(line, folder, ELEVATED) is Decision.ALLOW


READS = (
    "grep -R x .",
    "rg -L x .",
    "sort --files0-from=list",
    "wc --files0-from=list",
    "cp -rL . x",
)


@pytest.mark.parametrize("line", READS)
def test_a_link_below_a_folder_is_no_way_to_a_denied_file(line: str, folder: Path) -> None:
    """What follows links, or reads what a file lists, may read the file; no one is asked here."""
    (folder / "passwd").symlink_to("/etc/passwd")
    plan = Planner().plan(request(line, cwd=folder), ELEVATED)
    assert isinstance(plan, ExecPlan), plan
    held = provisions(rule("deny", reads="/etc/passwd"))
    assert evaluate(plan, ELEVATED, listed(), provisions=held).decision is Decision.DENY
    assert evaluate(plan, ELEVATED, listed()).decision is Decision.ALLOW


@pytest.mark.parametrize("line", ["grep -r x .", "sort list", "ls"])
def test_what_goes_around_links_is_free(line: str, folder: Path) -> None:
    """The control: the denied file is not below the folder."""
    plan = Planner().plan(request(line, cwd=folder), ELEVATED)
    assert isinstance(plan, ExecPlan), plan
    held = provisions(rule("deny", reads="/etc/passwd"))
    assert evaluate(plan, ELEVATED, listed(), provisions=held).decision is Decision.ALLOW


@rows(
    "match, line, decision",
    [
        ({"words": "git -C *"}, "git -C web log", Decision.DENY),
        ({"words": "git -C web *"}, "git -C web log", Decision.DENY),
        ({"words": "git -C web *"}, "git -C ./web log", Decision.DENY),
        ({"words": "git -C {at}/web *"}, "git -C web log", Decision.DENY),
        ({"words": "git -C .. log"}, "git -C .. log", Decision.DENY),
        ({"words": "git -C .. log"}, "cd web && git -C ../.. log", Decision.DENY),
        ({"words": "git -C ../.. log"}, "git -C .. log", Decision.ALLOW),
        ({"words": "git -C *"}, "cd web && git log", Decision.DENY),
        ({"words": "git -C other *"}, "git -C web log", Decision.ALLOW),
        ({"words": "git -C *"}, "git log", Decision.ALLOW),
        ({"words": "git log *"}, "git -C web log", Decision.DENY),
        ({"words": "ls -C *"}, "cd web && ls", Decision.ALLOW),
        ({"argv": ["git", "-C", "<REST:any>"]}, "git -C web log -1", Decision.DENY),
        ({"argv": ["git", "-C", "web", "log"]}, "git -C web log", Decision.DENY),
        ({"argv": ["git", "-C", "<PATH>", "log"]}, "git -C web log", Decision.DENY),
        ({"argv": ["git", "-C", "web", "log"]}, "git -C web push", Decision.ALLOW),
    ],
)
def test_a_rule_about_another_folder_of_git_holds(
    match: dict[str, Any], line: str, decision: Decision, folder: Path
) -> None:
    """What is planned as ``cd web && git log`` is also what a rule says with ``-C``."""
    (folder / "web").mkdir(exist_ok=True)
    words = {name: _placed(one, folder) for name, one in match.items()}
    held = provisions({"match": words, "decide": "deny"})
    plan = Planner().plan(request(line, cwd=folder), ELEVATED)
    assert isinstance(plan, ExecPlan), plan

    assert evaluate(plan, ELEVATED, listed(), provisions=held).decision is decision


def test_a_rule_that_allows_another_folder_of_git_holds(folder: Path) -> None:
    """A person wrote it for the words that the agent types."""
    (folder / "web").mkdir()
    held = provisions(rule("allow", "git", "-C", str(folder / "web"), "log"))

    def judged(line: str) -> Decision:
        plan = Planner().plan(request(line, cwd=folder), LISTED)
        assert isinstance(plan, ExecPlan), plan
        return evaluate(plan, LISTED, listed(), provisions=held).decision

    assert judged("git -C web log") is Decision.ALLOW
    assert judged("git -C . log") is Decision.ASK
    assert judged("git -C web status") is Decision.ASK


def _placed(value: str | list[str], folder: Path) -> str | list[str]:
    return value.replace("{at}", str(folder)) if isinstance(value, str) else value
