"""Shape ``approvals.exec.suggest``: the weekly look at what prompts cost."""

from typing import Annotated

from pydantic import Field

from core.settings.base import Section

_WORTH_A_MESSAGE = 20
_MOST = 100_000


class SuggestSection(Section):
    """``approvals.exec.suggest``: when people are told that entries would save prompts."""

    weekly: bool = Field(
        default=True,
        description="whether the gateway checks each Monday at 09:00 (approvals.exec.zone) whether "
        "allowlist entries would have saved prompts of the last seven days, "
        "and notifies people once",
    )
    least: Annotated[int, Field(ge=1, le=_MOST)] = Field(
        default=_WORTH_A_MESSAGE,
        description="prompts a week that entries must save; below that nobody is told",
    )
