"""Refuse requests made by a foreign web page (DNS rebinding, CSRF).

A page whose name is pointed at this machine after it was loaded has its own name in ``Host``; a
page of another site has its own ``Origin``. Names can be pointed elsewhere, addresses cannot.
"""

import ipaddress
import re
from urllib.parse import urlsplit

from starlette.types import Scope

from bot.api.http.bodies import header
from bot.api.http.errors import Fault, FaultCode
from core.settings.http import HttpSection

_HOST = re.compile(r"(?P<name>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(?P<port>:\d{1,5})?")
_LOCAL_NAME = "localhost"
_SCHEMES = {"http": "http", "https": "https", "ws": "http", "wss": "https"}


def check_site(scope: Scope, section: HttpSection) -> None:
    """Refuse a request whose ``Host`` or ``Origin`` is somebody else's.

    Raises:
        Fault: it came by a name or from a page that the configuration does not name.
    """
    host = _text(header(scope, b"host"))
    match = _HOST.fullmatch(host)
    if match is None or not _is_ours(match["name"].lower(), section):
        raise Fault(FaultCode.WRONG_SITE, "Host header not allowed.")
    origin = header(scope, b"origin")
    if origin is None:
        return
    own = f"{_SCHEMES[scope['scheme']]}://{host}".lower()
    if _text(origin).lower() not in {own, section.url, *section.origins}:
        raise Fault(FaultCode.WRONG_SITE, "Origin not allowed.")


def _is_ours(name: str, section: HttpSection) -> bool:
    page = urlsplit(section.url or "").hostname
    if name in {_LOCAL_NAME, section.address[0].lower(), page, *section.hosts}:
        return True
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def _text(value: bytes | None) -> str:
    return (value or b"").decode("latin-1")
