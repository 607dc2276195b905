"""Settings for `intake`: which other users of this machine may ask, each bound to its agents."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from core.model.access import PEOPLES_SCOPES, Scope
from core.settings.base import AbsolutePath, Section, Word, Words

_LARGEST_UID = (1 << 32) - 2
_ScopeWord = Annotated[Scope, Field(strict=False)]


class UnixUserSection(Section):
    """One entry of `intake.unix`."""

    user: Word | None = Field(default=None, description="the user's login name; or give `uid`")
    uid: Annotated[int, Field(ge=0, le=_LARGEST_UID)] | None = Field(
        default=None, description="the user's numeric id; or give `user`"
    )
    agents: Annotated[Words, Field(min_length=1)] = Field(
        description="the agents in whose name this user may ask; no other name is accepted"
    )
    may: Annotated[tuple[_ScopeWord, ...], Field(strict=False, min_length=1)] = Field(
        default=(Scope.REQUEST,),
        description="request: ask for commands and follow them; read: see what its agents asked",
    )

    @model_validator(mode="after")
    def _is_one_agents_user(self) -> Self:
        if (self.user is None) == (self.uid is None):
            raise ValueError("give either `user` or `uid`")
        if not PEOPLES_SCOPES.isdisjoint(self.may):
            raise ValueError("`may` holds request and read only: an agent's user never approves")
        return self


class IntakeSection(Section):
    """`intake`: the ways in besides the owner's own socket."""

    unix: Annotated[tuple[UnixUserSection, ...], Field(strict=False)] = Field(
        default=(),
        description="other users of this machine who may ask on `socket`; nobody else is served",
    )
    socket: AbsolutePath = Field(
        default="/run/sayso/agents.sock",
        description="where these users connect; its folder must be the gateway's own user's",
    )
