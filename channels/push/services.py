"""Decide which addresses are push services of browsers; nothing is sent to any other.

A browser says where its notifications are to be sent, so anyone signed in could name any address,
such as one of this machine or of its network. Only these hosts, and the origins that the settings
name, are contacted, at their own port.
"""

import re
from collections.abc import Collection
from urllib.parse import urlsplit

LONGEST = 1_024
"""Maximum characters of an address."""
_HOSTS = frozenset(
    {
        "android.googleapis.com",
        "fcm.googleapis.com",
        "jmt17.google.com",
        "updates.push.services.mozilla.com",
        "web.push.apple.com",
    }
)
_DOMAINS = (".push.services.mozilla.com", ".notify.windows.com", ".push.apple.com")
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_HOST = re.compile(rf"{_LABEL}(?:\.{_LABEL})*|[0-9a-f:.]+")
"""A name (RFC 1123) or an address: whatever libraries could parse differently is refused."""
_PLAIN = re.compile(r"https?://[!-~]+")


def is_served(endpoint: str, more: Collection[str] = ()) -> bool:
    """Return whether an address belongs to a push service; ``more`` are additional origins."""
    origin = origin_of(endpoint)
    if not origin:
        return False
    if origin in more:
        return True
    scheme, _, host = origin.partition("://")
    return scheme == "https" and (host in _HOSTS or host.endswith(_DOMAINS))


def origin_of(endpoint: str) -> str:
    """Return the origin of an address, as settings and VAPID write it; empty for anything odd."""
    if len(endpoint) > LONGEST or not _PLAIN.fullmatch(endpoint) or "\\" in endpoint:
        return ""
    try:
        parts = urlsplit(endpoint)
        port = parts.port
    except ValueError:
        return ""
    named = parts.hostname or ""
    if "@" in parts.netloc or parts.fragment or not _HOST.fullmatch(named):
        return ""
    shown = "" if port is None or port == _own_port(parts.scheme) else f":{port}"
    host = f"[{named}]" if ":" in named else named
    return f"{parts.scheme}://{host}{shown}"


def _own_port(scheme: str) -> int:
    return 443 if scheme == "https" else 80
