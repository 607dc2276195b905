"""Answer as a proxy, or a server of another make, does in place of a platform."""

import pytest

from tests.emulators.faults import Fault, FaultKind

_HTML = "<html><body><h1>Not here</h1>" + "nginx " * 500 + "</body></html>"
ODD = {
    "a 404 page": (404, _HTML),
    "a 403 page": (403, _HTML),
    "a 200 page": (200, _HTML),
    "an empty 200": (200, ""),
    "an empty 404": (404, ""),
    "a 500 page": (500, _HTML),
    "an empty 503": (503, ""),
    "blank JSON": (200, " "),
    "blank JSON with 404": (404, " "),
    "a list": (200, "[]"),
    "a number": (200, "7"),
    "an empty object": (200, "{}"),
    "ok alone": (200, '{"ok": true}'),
    "no reason": (200, '{"ok": false}'),
}
"""Status and body; what begins like JSON claims that it is JSON."""
_SAMPLE = ("a 404 page", "ok alone")
NAMES = [name if name in _SAMPLE else pytest.param(name, marks=pytest.mark.deep) for name in ODD]
"""Some of them in each run, all of them in the deep ones."""


def odd(method: str, name: str) -> Fault:
    """Return the fault that answers a call so."""
    status, words = ODD[name]
    return Fault(FaultKind.PAGE, method, status, words=words)
