"""Shape ``proof``: how often the gateway proves to itself that nothing gets past its gate."""

from pydantic import Field

from core.settings.base import Seconds, Section

_QUARTER_OF_AN_HOUR = 900
_PATIENCE = 5


class ProofSection(Section):
    """``proof``: the gate proofs."""

    every: Seconds | None = Field(
        default=_QUARTER_OF_AN_HOUR,
        description="seconds between two gate proofs; null: only at the start",
    )
    patience: Seconds = Field(
        default=_PATIENCE, description="seconds that each way in has to answer its gate proof"
    )
