"""Add an allowlist entry so that it counts: ``sayso approvals allowlist add``."""

from collections.abc import Mapping
from pathlib import Path

from bot.factories.policy import idle_of
from bot.policy_tools.judge import present_settings
from bot.settings import InvalidConfig
from core.approvals.file.edit import known_agent
from core.approvals.file.file import ApprovalsFile
from core.errors import BadRequest
from core.model.approval import AllowlistEntry


def add(
    file: ApprovalsFile,
    environ: Mapping[str, str],
    agent: str,
    pattern: str,
    argv: tuple[str, ...] | None,
) -> AllowlistEntry:
    """Add an entry and return it, or the existing one; what is listed and idle starts over.

    Raises:
        BadRequest: the entry could never count, or it is idle and cannot be distinguished from
        another. SaysoError: the approvals file cannot be read or written.
    """
    entry = file.add(agent, pattern, argv)
    if not _is_idle(file, environ, agent, entry):
        return entry
    # A new id is a new entry to a gateway that runs: its time begins when it is first seen.
    alike = [one for one in file.entries(known_agent(agent)) if one.pattern == pattern]
    if entry.id is None and len(alike) > 1:
        raise BadRequest(
            f"{entry.words!r} is listed but idle, has no id and shares its pattern with another "
            "entry. Remove them and add each again."
        )
    file.remove(agent, entry.id or pattern)
    return file.add(agent, pattern, argv)


def _is_idle(
    file: ApprovalsFile, environ: Mapping[str, str], agent: str, entry: AllowlistEntry
) -> bool:
    try:
        settings = present_settings(environ)
    except InvalidConfig:
        return False  # no gateway starts with it; what it would say of idle entries is not known
    idle = idle_of(settings, Path(settings.home)).sort(
        known_agent(agent), file.entries(known_agent(agent))
    )
    return any(one == entry for one, _ in idle.idle)
