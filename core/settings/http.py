"""Settings for ``http``: the REST and WebSocket API of the gateway, off by default."""

import ipaddress
import re
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from core.settings.base import Seconds, Section, Word, host_and_port, section

_LISTEN = re.compile(r"(?P<host>[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]):(?P<port>\d{1,5})")
_HIGHEST_PORT = 65_535
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?")
_ORIGIN = re.compile(r"https?://(?:[a-z0-9.-]{1,253}|\[[0-9a-f:.]+\])(?::\d{1,5})?")
_MEBIBYTE = 1 << 20


def _address(listen: str) -> str:
    match = _LISTEN.fullmatch(listen)
    if match is None or int(match["port"]) > _HIGHEST_PORT:
        raise ValueError('must be HOST:PORT such as "127.0.0.1:8791"')
    return listen


def _page_url(url: str) -> str:
    return _origin(url.rstrip("/"))


def _host_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError('must be a lower-case host name without a port, as "sayso.example"')
    return name


def _origin(origin: str) -> str:
    if not _ORIGIN.fullmatch(origin):
        raise ValueError('must be an origin without a path, such as "https://panel.example"')
    return origin


Names = Annotated[tuple[Annotated[str, AfterValidator(_host_name)], ...], Field(strict=False)]
Origins = Annotated[tuple[Annotated[str, AfterValidator(_origin)], ...], Field(strict=False)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]


class HttpTlsSection(Section):
    """``http.tls``: the certificate that the API shows."""

    cert: Word = Field(description="the certificate chain, a PEM file; relative to $SAYSO_HOME")
    key: Word = Field(description="its private key, a PEM file readable only by you")


class HttpLimitsSection(Section):
    """``http.limits``: what one client, and all of them together, may use."""

    body_bytes: Annotated[int, Field(ge=1024, le=8 * _MEBIBYTE)] = Field(
        default=2 * _MEBIBYTE,
        description="maximum size of a request body or WebSocket frame, in bytes",
    )
    rate: Count = Field(default=50, description="sustained requests per second per token")
    burst: Count = Field(default=200, description="burst of requests per token")
    address_rate: Count = Field(
        default=200,
        description="requests per second per address (on this machine: per user), for all tokens",
    )
    address_burst: Count = Field(
        default=800, description="burst of requests per address (on this machine: per user)"
    )
    failures: Count = Field(
        default=20, description="failed tokens per address before responses are delayed"
    )
    concurrent: Count = Field(default=64, description="concurrent requests; one token may use half")
    waiting: Count = Field(
        default=256,
        description="long polls, streams, WebSockets, tool calls and remote runs that are open at "
        "once; half of it for one token",
    )
    connections: Count = Field(
        default=512, description="maximum open connections; half of them for one client"
    )
    patience: Seconds = Field(
        default=10.0, description="timeout in seconds for a request's head, its body, and one write"
    )
    longest_wait: Seconds = Field(
        default=60.0, description="maximum seconds that a long poll or a tool call stays open"
    )
    longest_stream: Seconds = Field(
        default=3600.0,
        description="seconds after which an event stream ends and is resumed, and a remote run is "
        "no longer waited for",
    )


class HttpPushSection(Section):
    """``http.push``: notifications of browsers that are signed in, by web push."""

    enabled: bool = Field(
        default=True, description="offer web push on the control page; nothing is sent unless asked"
    )
    services: Origins = Field(
        default=(),
        description="further push services, by origin; those of Google, Mozilla, Microsoft and "
        "Apple are known",
    )
    contact: Word | None = Field(
        default=None,
        description="mailto: or https: address that push services may write to; null: `http.url`",
    )


class HttpSection(Section):
    """``http``: REST below /v1, WebSocket at /ws, /metrics and /health."""

    enabled: bool = Field(default=False, description="serve the API; tokens: `sayso token create`")
    listen: Annotated[str, AfterValidator(_address)] = Field(
        default="127.0.0.1:8791",
        description="HOST:PORT to listen on, on loopback at 127.0.0.1 and ::1; port 0 takes a free "
        "one",
    )
    public: bool = Field(
        default=False,
        description="allow `listen` to be reachable from other machines",
    )
    tls: HttpTlsSection | None = Field(
        default=None, description="serve HTTPS; null: plain HTTP, for local use only"
    )
    hosts: Names = Field(
        default=(),
        description="names that requests may use in Host besides localhost and addresses",
    )
    origins: Origins = Field(
        default=(), description="web origins whose pages may open /ws; the API's own is allowed"
    )
    url: Annotated[str, AfterValidator(_page_url)] | None = Field(
        default=None,
        description="where people open the control page, such as https://sayso.example; prompts "
        "link there, its host and origin are accepted",
    )
    metrics_open: bool = Field(
        default=False, description="serve /metrics without a token; otherwise it needs scope read"
    )
    access_log: bool = Field(
        default=True, description="log each request: who, route, status, milliseconds"
    )
    limits: HttpLimitsSection = section(HttpLimitsSection, "limits on clients")
    push: HttpPushSection = section(HttpPushSection, "notifications by web push")

    @property
    def address(self) -> tuple[str, int]:
        """Return the host and port of ``listen``."""
        return host_and_port(self.listen)

    @property
    def is_secure(self) -> bool:
        """Return whether browsers reach the page by TLS: ours, or that of a proxy before it."""
        return self.url.startswith("https:") if self.url is not None else self.tls is not None

    @property
    def is_loopback(self) -> bool:
        """Return whether only this machine can reach ``listen``."""
        host = self.address[0]
        if host == "localhost":
            return True
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return False

    @model_validator(mode="after")
    def _reachable_on_purpose(self) -> Self:
        if not self.is_loopback and not self.public:
            raise ValueError(
                f"listen {self.listen} can be reached from other machines; set public: true if "
                "that is intended, or listen on 127.0.0.1"
            )
        return self
