"""Set the scene of a page with two machines: the reader's is the client, another home the host."""

import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.docs.fragments import write
from tests.docs.scene import Scene
from tests.docs.shell import User

_HOST = "second"


def _host_home(user: User) -> Path:
    return user.home / "host"


def _identity(terminal: str, key: str, user: User) -> str:
    if terminal == _HOST:
        _prepare(user)
    path = user.home / f"{terminal}.json"
    if not path.exists():
        user.do(f"sayso exec identity --json > {path}", terminal)
    return str(json.loads(path.read_text())[key])


def _prepare(user: User) -> None:
    _host_home(user).mkdir(mode=0o700, exist_ok=True)
    user.others[_HOST] = {"SAYSO_HOME": str(_host_home(user))}


def _serve_both(user: User) -> None:
    """Start both gateways; the host with the page's own address and list."""
    own = user.config["remote"]
    assert isinstance(own, dict)
    remote = {"acl": str(user.home / "exec-acl.toml"), **own}
    write(user, {"remote": remote}, _host_home(user))
    user.serve_other(_HOST)
    user.serve()


@contextmanager
def _port() -> Iterator[Mapping[str, str]]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    yield {"REMOTE_PORT": port}


def two_machines() -> Scene:
    """Return the scene; ids, paths and the port on the page are replaced by real ones."""
    ids = {
        "2fb1…": ("first", "agent_id"),
        "90cc…": ("first", "machine_id"),
        "5d41…": ("first", "fingerprint"),
        "77ab…": (_HOST, "agent_id"),
        "01ef…": (_HOST, "machine_id"),
        "c3d2…": (_HOST, "fingerprint"),
    }
    words = {
        word: lambda user, where=where: _identity(where[0], where[1], user)
        for word, where in ids.items()
    }
    return Scene(
        server=_port,
        before="echo state > ~/payload.bin",
        words={
            **words,
            "8793": lambda user: user.environ["REMOTE_PORT"],
            "/etc/sayso/exec-acl.toml": lambda user: str(user.home / "exec-acl.toml"),
            "/var/log/sayso/exec.log": lambda user: str(user.home / "exec.log"),
            "payload.bin": lambda user: str(user.home / "payload.bin"),
            "REQUEST_ID": "0" * 32,
        },
        ahead={
            "sayso exec contacts add laptop": _prepare,
            "sayso exec contacts add web1": _serve_both,
        },
        elsewhere=(
            "sayso exec contacts add laptop",
            "sayso check",
            "sayso diagnostics",
            "sayso audit verify",
        ),
        statuses={"sayso exec web1 --cancel REQUEST_ID": 2},
        machine=("sayso exec web1 -- systemctl", "sayso exec web1 --timeout 30 -- journalctl"),
    )
