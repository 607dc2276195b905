"""Report errors between a client and the gateway; imported only when there is one."""

import os
from typing import Any

from core import errors

_INVALID_PARAMS = -32602


def unreachable(path: str, error: OSError) -> errors.GatewayUnreachable:
    """Return why nobody answers on a socket, and what to do."""
    if isinstance(error, TimeoutError):
        return errors.GatewayUnreachable(
            f"The gateway on {path} did not answer in time. It may still act on the request: see "
            "`sayso history`."
        )
    absent = isinstance(error, FileNotFoundError | ConnectionRefusedError)
    words = "" if absent else f": {error.strerror or error}"
    is_set_up = os.path.exists(os.path.join(os.path.dirname(path), "config.json5"))  # noqa: PTH110, PTH118, PTH120 - see bot.cli.paths
    first = "" if is_set_up else "Run `sayso init` first if you have not yet. "
    return errors.GatewayUnreachable(
        f"No gateway is listening on {path}{words}. {first}Start one with `sayso serve`."
    )


def refused(error: dict[str, Any]) -> errors.SaysoError:
    """Return what the gateway answered, as the type that it raised."""
    kind = getattr(errors, str(error.get("data", {}).get("type", "")), None)
    if not (isinstance(kind, type) and issubclass(kind, errors.SaysoError)):
        kind = errors.BadRequest if error["code"] == _INVALID_PARAMS else errors.SaysoError
    return kind(str(error["message"]))
