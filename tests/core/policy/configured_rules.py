"""Define rules, capabilities and skills as a configuration writes them."""

from typing import Any

from core.model.command import PinnedFile
from core.model.identity import AgentId
from core.policy.rules.compiled import Provisions, compiled
from core.settings import CoreSettings

HOME = "/home/alice"
CODER = AgentId("coder")


def settings(
    *rules: dict[str, Any],
    own: tuple[dict[str, Any], ...] = (),
    roots: dict[str, str] | None = None,
    capabilities: dict[str, Any] | None = None,
) -> CoreSettings:
    """Return a configuration with rules for all, and those and capabilities of the agent coder."""
    named = [{"name": name, "path": path} for name, path in (roots or {}).items()]
    coder = {"id": CODER, "tools": {"exec": {"rules": own}}, "capabilities": capabilities}
    return CoreSettings.model_validate(
        {"tools": {"exec": {"rules": rules, "roots": named}}, "agents": {"list": [coder]}}
    )


def provisions(*rules: dict[str, Any], **more: Any) -> Provisions:
    """Return the restrictions of the agent coder."""
    return compiled(settings(*rules, **more), HOME).of(CODER)


def rule(decide: str, *argv: str, **match: str) -> dict[str, Any]:
    """Return a rule about a vector, a glob, an effect or a file, possibly bound to a folder."""
    vector = {"argv": list(argv)} if argv else {}
    return {"match": {**vector, **match}, "decide": decide}


def file_at(path: str, realpath: str = "") -> PinnedFile:
    """Return a file that need not exist."""
    return PinnedFile(path, realpath or path, 1, 1, 1, "0" * 64)
