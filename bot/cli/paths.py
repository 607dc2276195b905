"""Find $SAYSO_HOME without importing the settings."""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def home() -> str:
    """Return the state folder: $SAYSO_HOME, or ~/.sayso."""
    return os.environ.get("SAYSO_HOME") or os.path.expanduser("~/.sayso")  # noqa: PTH111 - pathlib costs 3 ms of a 10 ms start


SHARED_SOCKET = "/run/sayso/agents.sock"
"""Where agents that run as other users find the gateway (``intake.socket``'s default)."""


def socket_path() -> str:
    """Return the gateway's socket: $SAYSO_SOCKET, else that of our home, else the shared one."""
    named = os.environ.get("SAYSO_SOCKET")
    if named:
        return named
    own = f"{home()}/gateway.sock"
    if "SAYSO_HOME" in os.environ or os.access(own, os.F_OK):
        return own
    return SHARED_SOCKET if os.access(SHARED_SOCKET, os.F_OK) else own


def with_acl(environ: "Mapping[str, str]", acl: str | None) -> dict[str, str]:
    """Return an environment with the access list that ``--exec-acl`` names, if it names one."""
    given = {} if acl is None else {"SAYSO_REMOTE__ACL": os.path.abspath(acl)}  # noqa: PTH100 - as above
    return {**environ, **given}
