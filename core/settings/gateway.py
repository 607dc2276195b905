"""Settings of the gateway itself: `intake`, `proof`, `remote`, `nodes`, and more."""

import logging
from enum import StrEnum
from typing import Annotated, Self

from pydantic import AfterValidator, Field, SecretStr, model_validator

from core.model.access import PEOPLES_SCOPES, Scope
from core.model.address import Address
from core.settings.base import AbsolutePath, Days, Seconds, Section, Word, Words, section

_LARGEST_UID = (1 << 32) - 2
_QUARTER_OF_AN_HOUR = 900
_PATIENCE = 5
_SMALLEST_SEGMENT = 1 << 16
_STORE_URLS = ("sqlite:///", "postgresql://", "postgres://")
DEFAULT_RETENTION_DAYS = 30
_ScopeWord = Annotated[Scope, Field(strict=False)]


class UnixUserSection(Section):
    """One entry of `intake.unix`."""

    user: Word | None = Field(default=None, description="the user's login name; or give `uid`")
    uid: Annotated[int, Field(ge=0, le=_LARGEST_UID)] | None = Field(
        default=None, description="the user's numeric id; or give `user`"
    )
    agents: Annotated[Words, Field(min_length=1)] = Field(
        description="the only agents that this user may ask as"
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
    """`intake`: the entry points in addition to the owner's socket."""

    unix: Annotated[tuple[UnixUserSection, ...], Field(strict=False)] = Field(
        default=(),
        description="other users of this machine who may ask on `socket`; no others",
    )
    socket: AbsolutePath = Field(
        default="/run/sayso/agents.sock",
        description="the socket for these users; its folder must belong to the gateway's user",
    )


class ProofSection(Section):
    """``proof``: the gate proofs."""

    every: Seconds | None = Field(
        default=_QUARTER_OF_AN_HOUR,
        description="seconds between gate proofs; null: only at startup",
    )
    patience: Seconds = Field(
        default=_PATIENCE, description="timeout in seconds for each entry point's gate proof"
    )


def _address(text: str) -> str:
    return str(Address.parse(text))


Addresses = Annotated[
    tuple[Annotated[Word, AfterValidator(_address)], ...], Field(strict=False, max_length=8)
]


class RemoteSection(Section):
    """``remote``: run listed commands for agents on other machines."""

    acl: Word | None = Field(
        default=None,
        description="the access list; null: /etc/sayso/exec-acl.toml, and where that is missing "
        "remote exec is off; relative to $SAYSO_HOME",
    )
    listen: Addresses = Field(
        default=(),
        description="addresses to listen on: 127.0.0.1:PORT or [::1]:PORT with TLS, or "
        "unix:/path; empty: not listening",
    )


_ANY_ADDRESS = r"^(\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z.-]+):[0-9]{1,5}$"


class NodesSection(Section):
    """``nodes``: other machines that take whole requests from this gateway."""

    enabled: bool = Field(default=False, description="listen for nodes")
    listen: Annotated[Word, Field(pattern=_ANY_ADDRESS)] = Field(
        default="127.0.0.1:8794",
        description="HOST:PORT to listen on with TLS; nodes pin this gateway's key",
    )

    @property
    def address(self) -> tuple[str, int]:
        """Return host and port."""
        host, _, port = self.listen.rpartition(":")
        return host.removeprefix("[").removesuffix("]"), int(port)


class NodePasskeySection(Section):
    """One entry of `node.passkeys`, as `sayso people passkeys --json` prints it on the gateway."""

    id: Word = Field(description="the passkey's id")
    public_key: Word = Field(description="its public key")


class NodeSection(Section):
    """``node``: this machine as a node of a gateway, read by `sayso node run`."""

    sandbox: bool = Field(
        default=False,
        description="run what the gateway orders in this machine's sandbox, or not at all",
    )
    remote_approvals: bool = Field(
        default=True,
        description="let the gateway show and replace this machine's exec-approvals.json; with "
        "`passkeys` it never may",
    )
    page: Word | None = Field(
        default=None,
        description="the https address of the gateway's control page, where `passkeys` sign",
    )
    passkeys: Annotated[tuple[NodePasskeySection, ...], Field(strict=False)] = Field(
        default=(),
        description="approvers' passkeys: what people allow runs here only where one of these "
        "signed it; empty: the gateway's word is enough",
    )

    @property
    def opens_approvals(self) -> bool:
        """Return whether the gateway may show and replace exec-approvals.json.

        Where passkeys are wanted it may not: it could let everything run without one.
        """
        return self.remote_approvals and not self.passkeys


def _store_url(url: SecretStr) -> SecretStr:
    if not url.get_secret_value().startswith(_STORE_URLS):
        raise ValueError("must begin with sqlite:/// or postgresql://")
    return url


class StoreSection(Section):
    """``store``: where approvals, runs and events are kept."""

    url: Annotated[SecretStr, AfterValidator(_store_url)] | None = Field(
        default=None,
        description="a sqlite: or postgresql: URL, as a secret; null: state.db in $SAYSO_HOME",
    )
    key: SecretStr | None = Field(
        default=None,
        description="32 bytes in base64, as a secret, that seal the secrets of authenticator apps; "
        "null: store.key in $SAYSO_HOME, made when needed. Gateways that share a database need one",
    )
    retention_days: Days = Field(
        default=DEFAULT_RETENTION_DAYS,
        description="days to keep decided approvals, ended runs and read events",
    )


class RotateSection(Section):
    """``audit.rotate``: when a gateway begins a new segment of the journal on its own."""

    max_bytes: Annotated[int, Field(ge=_SMALLEST_SEGMENT)] | None = Field(
        default=None,
        description="bytes after which a new segment of the journal is begun, 65536 at least; "
        "null: only by `sayso audit rotate`",
    )


class AuditSection(Section):
    """``audit``: the hash-chained journal."""

    path: Word | None = Field(
        default=None, description="the journal's file; null: audit.jsonl in $SAYSO_HOME"
    )
    rotate: RotateSection = section(RotateSection, "when a new segment of the journal is begun")


class LogLevel(StrEnum):
    """How much the gateway logs."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"

    @property
    def number(self) -> int:
        """Return the level as the standard library counts it."""
        return logging.getLevelNamesMapping()[self.name]


class LoggingSection(Section):
    """``logging``: the gateway's log on standard error."""

    level: Annotated[LogLevel, Field(strict=False)] = Field(
        default=LogLevel.INFO,
        description="the least that is logged: debug, info, warning or error; secrets are masked "
        "at every level, and libraries log warnings and errors only",
    )
