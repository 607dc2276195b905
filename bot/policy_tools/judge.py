"""Judge commands under a configuration as the gateway that reads it would; run nothing."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bot.factories.policy import rulebook_of
from bot.settings import Settings, home_folder, read
from bot.settings.home import CONFIG_NAME
from core.errors import BadRequest
from core.model.approval import AllowlistEntry
from core.model.command import ExecPlan, ExecRequest
from core.model.decision import Decision, Evaluation
from core.model.identity import AgentId
from core.model.policy import ExecPolicy
from core.planning.planner import Planner, Refusal
from core.policy.matching.allowlist import Allowlist
from core.policy.matching.argv_template import ArgvTemplate

APPROVALS_NAME = "exec-approvals.json"


@dataclass(frozen=True, slots=True)
class Judged:
    """What is decided about a command, its machine-readable reason, and why in one sentence."""

    decision: Decision
    reason: str
    why: str

    @classmethod
    def of(cls, verdict: Evaluation | Refusal) -> "Judged":
        """Return a verdict, or the refusal of a request for which no plan can be made."""
        if isinstance(verdict, Refusal):
            return cls(Decision.DENY, verdict.reason.value, verdict.why)
        return cls(verdict.decision, verdict.reason.value, verdict.why)


class Judge:
    """A configuration with its approvals file, ready to judge."""

    def __init__(self, settings: Settings, approvals: Path) -> None:
        self._book = rulebook_of(settings, approvals, read_only=True)
        self._planner = Planner(settings.tools.exec.search_path)
        self._extended: dict[tuple[AgentId, tuple[AllowlistEntry, ...]], Allowlist] = {}

    def policy(self, agent: AgentId) -> ExecPolicy:
        """Return what applies to an agent: the stricter of configuration and approvals file.

        Raises:
            ApprovalsFileError: the file is corrupt or unsafe.
        """
        return self._book.agent_policy(agent)

    def plan(self, request: ExecRequest, policy: ExecPolicy | None = None) -> ExecPlan | Refusal:
        """Plan a request on this machine, as it is now."""
        return self._planner.plan(request, policy or self.policy(request.agent))

    def judge(
        self,
        plan: ExecPlan,
        policy: ExecPolicy | None = None,
        allowlist: Allowlist | None = None,
        acl: tuple[ArgvTemplate, ...] | None = None,
    ) -> Evaluation:
        """Judge a plan; given arguments replace the agent's own."""
        return self._book.judge(plan, policy or self.policy(plan.agent), allowlist, acl)

    def allowlist(self, agent: AgentId, extra: tuple[AllowlistEntry, ...] = ()) -> Allowlist:
        """Return an agent's allowlist, with additional entries."""
        found = self._extended.get((agent, extra))
        if found is None:
            found = listed((*self._book.entries(agent).counted, *extra))
            self._extended[agent, extra] = found
        return found


def listed(entries: tuple[AllowlistEntry, ...]) -> Allowlist:
    """Return an allowlist whose ``~`` is this user's home."""
    return Allowlist(entries, str(Path.home()))


def present_settings(environ: Mapping[str, str]) -> Settings:
    """Return the settings in effect.

    Raises:
        InvalidConfig: the configuration cannot be used.
    """
    return read(home_folder(None, environ), environ).settings


def settings_from(config: Path, environ: Mapping[str, str]) -> Settings:
    """Return the settings that a configuration file would give if it were in effect.

    What it names relative to the home (secret files) is looked up in the present home.

    Raises:
        BadRequest: the file cannot be read.
        InvalidConfig: it cannot be used; places are called ``config.json5``.
    """
    home = home_folder(None, environ)
    try:
        content = config.read_bytes()
    except OSError as error:
        raise BadRequest(f"{config} cannot be read: {error.strerror}. Name a file.") from error
    with tempfile.TemporaryDirectory(prefix="sayso-policy-") as folder:
        stand_in = Path(folder)
        for neighbour in home.iterdir() if home.is_dir() else ():
            if neighbour.name != CONFIG_NAME:
                (stand_in / neighbour.name).symlink_to(neighbour)
        (stand_in / CONFIG_NAME).touch(mode=0o600)
        (stand_in / CONFIG_NAME).write_bytes(content)
        return read(stand_in, environ).settings


def present_judge(environ: Mapping[str, str]) -> Judge:
    """Return the judge of the home in effect.

    Raises:
        SaysoError: the configuration cannot be used.
    """
    return Judge(present_settings(environ), home_folder(None, environ) / APPROVALS_NAME)


def proposed_judge(config: Path, approvals: Path | None, environ: Mapping[str, str]) -> Judge:
    """Return the judge of another configuration, by default with the present approvals file.

    Raises:
        SaysoError: a file cannot be read or used.
    """
    if approvals is not None and not approvals.is_file():
        raise BadRequest(f"{approvals} is not a file. Name an approvals file.")
    present = home_folder(None, environ) / APPROVALS_NAME
    return Judge(settings_from(config, environ), approvals or present)
