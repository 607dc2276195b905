"""Report what an entry would have matched, before it is added: ``allowlist add --dry-run``."""

from collections.abc import Mapping
from pathlib import Path

from bot.policy_tools.judge import present_judge, present_settings
from core.approvals.file.document import ignored_because
from core.approvals.file.edit import known_agent
from core.errors import BadRequest
from core.model.approval import AllowlistEntry
from core.model.command import ExecPlan
from core.model.decision import Evaluation
from core.policy.judge.preview import LOOKED_AT, History, Preview, by_lists
from core.policy.matching.allowlist import Allowlist
from core.policy.rules.lint_entries import never_counts
from core.store.engine.read_only import open_and_read
from core.store.views.past_commands import recent


def would_match(
    environ: Mapping[str, str], agent: str, pattern: str, argv: tuple[str, ...] | None
) -> Preview:
    """Return which of an agent's last commands an entry would have allowed.

    Raises:
        BadRequest: the entry could never match, or no single agent is named.
        SaysoError: the configuration, the approvals file or the store cannot be used.
    """
    why = ignored_because(pattern, argv) or never_counts(pattern, argv)
    if why:
        raise BadRequest(f"{pattern!r} would not be added: {why}.")
    who = known_agent(agent)
    judge = present_judge(environ)
    commands = open_and_read(present_settings(environ).store_url, recent, who, LOOKED_AT)
    policy = by_lists(judge.policy(who))

    def judged(plan: ExecPlan, allowlist: Allowlist) -> Evaluation:
        return judge.judge(plan, policy, allowlist)

    entry = AllowlistEntry(pattern, argv=argv)
    history = History(who, commands, str(Path.home()))
    return history.preview([entry], judge.allowlist(who), judged)
