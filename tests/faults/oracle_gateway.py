"""Run lines with `sayso run` through a gateway with the example policy, for the oracles."""

import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.core.policy.developer import EXAMPLE
from tests.support.forked_cli import Forked, forked
from tests.support.gateway_process import GatewayProcess

_DENIED = re.compile(rb"sayso: denied \((\w+)\)")
_OURS = re.compile(rb"sayso: |sayso run: ")
ASKED = "no_route"
"""The reason if a person must allow a line and no one can: it ends at once."""


@dataclass
class Homed(GatewayProcess):
    """A gateway whose user has a home of their own."""

    user: Path = Path("/nonexistent")

    def environ(self) -> dict[str, str]:
        """Return the environment of every process of this gateway."""
        return {**super().environ(), "HOME": str(self.user)}


@dataclass(frozen=True)
class Lane:
    """A user's home with a running gateway, and the CLI."""

    user: Path
    gateway: Homed
    cli: Forked

    def denied(self, line: str, cwd: Path) -> str:
        """Run a line with `sayso run`; return why it was denied, empty if it ran."""
        _, _, error = self.cli.run("run", *words(line, cwd))
        found = _DENIED.match(error)
        if found is not None:
            return found[1].decode()
        assert _OURS.match(error) is None, (line, error)
        return ""


def words(line: str, cwd: Path) -> tuple[str, ...]:
    """Return the words of `sayso run` for a line in a folder."""
    return ("--agent", "main", "--timeout", "30", "--cwd", str(cwd), "-c", line)


@contextmanager
def lane(
    user: Path, module: str = "bot", search: Sequence[str] = (), approvals: str = ""
) -> Iterator[Lane]:
    """Run a gateway with the shipped example policy for a user."""
    state = user / ".sayso"
    state.mkdir(mode=0o700)
    (user / "projects").mkdir(exist_ok=True)
    shutil.copy(EXAMPLE, state / "config.json5")
    (state / "config.json5").chmod(0o600)
    _more(state, search, approvals)
    gateway = Homed(state, module=module, user=user)
    gateway.start()
    try:
        with forked(gateway) as cli:
            yield Lane(user, gateway, cli)
    finally:
        gateway.stop()


def _more(state: Path, search: Sequence[str], approvals: str) -> None:
    """Return where programs are searched for, and what is also allowed."""
    config = state / "config.json5"
    if search:
        listed = ", ".join(f'"{one}"' for one in search)
        head = 'host: "gateway",\n'
        text = config.read_text().replace(head, f"{head}      searchPath: [{listed}],\n", 1)
        assert "searchPath" in text
        config.write_text(text)
    if approvals:
        path = state / "exec-approvals.json"
        path.write_text(approvals)
        path.chmod(0o600)
