"""Judge the developer corpus under the shipped example policy, as a gateway would."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bot.explain.batch_entry import REQUESTER, SESSION
from bot.policy_tools.judge import settings_from
from bot.settings import Settings
from core.model.command import ExecPlan, ExecRequest, PinnedFile
from core.model.decision import Decision, Evaluation
from core.model.identity import DEFAULT_AGENT
from core.model.policy import PolicyLayer
from core.planning.planner import Planner, Refusal
from core.policy.judge.evaluate import evaluate
from core.policy.judge.precedence import resolve
from core.policy.matching.allowlist import Allowlist
from core.policy.rules.compiled import Provisions
from tests.support.plans import corpus, in_usr_bin, wrapped

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "developer.json5"
FILES = (
    *("README.md", "docs/guide.md", "docs/api.md", "src/app.py", "src/util.py", "src/config.py"),
    *("tests/test_app.py", "web/package.json", "package.json", "app.log", "notes.md", "data.csv"),
)
_NAMELESS = frozenset("/~$<>")


@dataclass(frozen=True, slots=True)
class Verdict:
    """A line of the corpus, and the decision on it."""

    entry: dict[str, Any]
    decision: Decision
    why: str


def workspace(home: Path) -> Path:
    """Make the project that the lines are about, in ``~/projects`` of a home."""
    folder = home / "projects" / "app"
    for name in FILES:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("text\n", encoding="utf-8")
    return folder


def example_settings(home: Path) -> Settings:
    """Read the shipped example policy as the configuration of a home."""
    return settings_from(EXAMPLE, {"SAYSO_HOME": str(home), "HOME": str(home)})


@dataclass(frozen=True, slots=True)
class Planned:
    """What lines are judged under: a configuration, the folder they run in, what is installed."""

    settings: Settings
    provisions: Provisions
    folder: Path
    find: Callable[[str], PinnedFile | None]


def judged(settings: Settings, folder: Path, provisions: Provisions) -> list[Verdict]:
    """Judge every line, with all programs in /usr/bin and ``folder`` below the home's projects.

    Otherwise the figures would show what is installed here, and not what the policy says.
    """
    planned = Planned(settings, provisions, folder, _debian)
    return [verdict(entry, planned) for entry in corpus("developer.json")]


def verdict(entry: dict[str, Any], planned: Planned) -> Verdict:
    """Judge the ``command`` of an entry."""
    home = str(planned.folder.parents[1])
    layers = planned.settings.exec_layers(DEFAULT_AGENT)
    policy = resolve(layers, PolicyLayer(source="no file"))
    request = ExecRequest(REQUESTER, SESSION, str(planned.folder), line=entry["command"])
    plan = Planner(base_env={"HOME": home}).plan(request, policy)
    if isinstance(plan, Refusal):
        return Verdict(entry, Decision.DENY, plan.why)
    found: Evaluation = evaluate(
        installed(plan, planned.find), policy, Allowlist((), home), provisions=planned.provisions
    )
    return Verdict(entry, found.decision, found.why)


def installed(plan: ExecPlan, find: Callable[[str], PinnedFile | None] | None = None) -> ExecPlan:
    """Return a plan whose programs are those that ``find`` knows, as they are on Debian."""
    if plan.unreadable is not None:
        return plan
    commands = tuple(
        replace(wrapped(*one.argv, find=find or _debian), cwd=one.cwd, routing=one.routing)
        for one in plan.commands
    )
    return replace(plan, commands=commands)


def _debian(name: str) -> PinnedFile | None:
    return in_usr_bin(name) if _NAMELESS.isdisjoint(name) else None
