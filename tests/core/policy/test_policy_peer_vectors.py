"""Compare with the reference product's vectors: never looser, except for named exceptions."""

import posixpath
from dataclasses import replace
from typing import Any

import pytest

from bot.explain.batch_entry import entry_of
from core.model.command import ExecPlan, PinnedDirectory, PinnedFile
from core.model.decision import Decision, Evaluation
from core.model.policy import Trust
from core.planning.planner import Planner, Refusal
from core.policy.judge.evaluate import evaluate
from tests.support.plans import corpus, in_usr_bin, listed, pinned, wrapped
from tests.support.tables import rows

VECTORS = corpus("peer_vectors.json")
SIX = ("cut", "uniq", "head", "tail", "tr", "wc")
BUILTINS = {"cd", "exec", "eval", "source", "alias", "command"}
LOOSER_ON_PURPOSE = {
    "inline-eval-029": "an awk program that only prints is read like a sed script (issue 9)",
    "safebin-ask-043": "S1 lists jq among the default safe bins; benign-safe-bin-025 needs it",
    "safebin-ask-058": "S1 lists grep; benign-safe-bin-033 is this very form",
    "pattern-012": "S1: patterns are case-insensitive",
    "pattern-029": "the invoked path counts as well as the real one (vector unstable)",
    "chain-023": "issue 9: a loop over known words is written out, and each command judged",
    "chain-028": "issue 4: a line break is `;`; the reference's newest planner agrees (unstable)",
}
# Under classical trust the vector asks: a program on the command line is not read there.
STRICT_ONLY = {"inline-eval-029"}


def judged(vector: dict[str, Any], trust: Trust) -> Evaluation | None:
    """Judge a vector under the reference's assumptions; ``None`` is a refusal."""
    fields = {"command": vector["command"], "env": vector.get("env"), "trust": trust.value}
    entry = entry_of(fields, "/tmp")
    bins = SIX if vector["safeBins"] is None else tuple(vector["safeBins"])
    policy = replace(entry.policy, safe_bins=bins)
    plan = Planner().plan(entry.request, policy)
    if isinstance(plan, Refusal):
        return None
    if plan.unreadable is None:
        plan = assumed(plan, vector)
    return evaluate(plan, policy, listed(*vector["allowlist"]))


def assumed(plan: ExecPlan, vector: dict[str, Any]) -> ExecPlan:
    """Put every named program into /usr/bin and the working directory to /srv/app."""

    def find(name: str) -> PinnedFile | None:
        path = vector.get("bins", {}).get(name, f"/usr/bin/{name}")
        if path is None or name in BUILTINS:
            return None
        if "/" in name:
            path = posixpath.normpath(posixpath.join("/srv/app", name))
        path = f"/usr{path}" if path.startswith("/bin/") else path
        real = vector.get("realpaths", {}).get(path, "")
        return pinned(path, real) if real else in_usr_bin(path)

    cwd = PinnedDirectory("/srv/app", 1, 1)
    commands = tuple(
        replace(wrapped(*one.argv, find=find), cwd=one.cwd, routing=one.routing)
        for one in plan.commands
    )
    return replace(plan, commands=commands, cwd=cwd)


def compared(trust: Trust) -> list[dict[str, Any]]:
    """Return the vectors that this trust mode is compared with.

    Classical trust is the reference without its strict inline-eval switch, and without argument
    patterns, which the seeds do not have.
    """
    return [
        vector
        for vector in VECTORS
        if trust is Trust.STRICT or not (vector.get("strictInlineEval") or vector.get("argPattern"))
    ]


@pytest.mark.parametrize("trust", Trust)
def test_never_looser_than_the_reference(trust: Trust) -> None:
    """What the reference asks about or denies is not allowed, except for the named exceptions."""
    vectors = compared(trust)
    looser, stricter = set(), 0
    for vector in vectors:
        found = judged(vector, trust)
        allowed = found is not None and found.decision is Decision.ALLOW
        if allowed and vector["expect"] != "allow":
            looser.add(vector["id"])
        stricter += not allowed and vector["expect"] == "allow"
    print(f"\n{trust.value}: {len(vectors)} vectors, {len(looser)} looser, {stricter} stricter")
    assert looser <= set(LOOSER_ON_PURPOSE)
    # Strict trust may ask about the inner program's own arguments where classical does not.
    wanted = LOOSER_ON_PURPOSE.keys() & {vector["id"] for vector in vectors}
    assert trust is Trust.STRICT or looser == wanted - STRICT_ONLY


@rows(
    "vector",
    [one for one in VECTORS if one["expect"] == "reject-allow-always"],
)
@pytest.mark.parametrize("trust", Trust)
def test_nothing_reusable_is_promised(vector: dict[str, Any], trust: Trust) -> None:
    """If the reference stores nothing for allow-always, neither do we."""
    found = judged(vector, trust)
    assert found is None or (found.decision is not Decision.ALLOW and found.promise == ())


@pytest.mark.parametrize(
    "vector", [one for one in VECTORS if one["id"].startswith("env-deny")], ids=lambda v: v["id"]
)
def test_environment_vectors_are_denied(vector: dict[str, Any]) -> None:
    """Blocked variables are denied, not asked about."""
    found = judged(vector, Trust.CLASSICAL)
    assert found is None or found.decision is Decision.DENY
