"""Define where exec frames go: addresses on this machine only."""

from dataclasses import dataclass
from ipaddress import ip_address

UNIX = "unix:"
_HIGHEST_PORT = 65_535


@dataclass(frozen=True, slots=True)
class Address:
    """Where exec frames go: a Unix socket's ``path``, else a loopback ``host`` and ``port``."""

    path: str = ""
    host: str = ""
    port: int = 0

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Read ``127.0.0.1:8793``, ``[::1]:8793`` or ``unix:/run/sayso/exec.sock``.

        Raises:
            ValueError: it is none of these, or not on this machine.
        """
        if text.startswith(UNIX):
            path = text.removeprefix(UNIX)
            if not path.startswith("/") or not path.isprintable():
                raise ValueError("a Unix socket must be unix:/absolute/path")
            return cls(path=path)
        host, _, port = text.rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        if not (port.isascii() and port.isdigit() and int(port) <= _HIGHEST_PORT):
            raise ValueError("write 127.0.0.1:PORT, [::1]:PORT or unix:/path")
        if not _is_loopback(host):
            raise ValueError(
                "only loopback addresses and Unix sockets are supported; reach other machines "
                "through a tunnel, such as ssh -L"
            )
        return cls(host=host, port=int(port))

    def __str__(self) -> str:
        if self.path:
            return f"{UNIX}{self.path}"
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
