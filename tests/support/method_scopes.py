"""Say a second time which scopes let a caller in, so that a slip in a method's scopes is seen."""

from collections.abc import Iterable
from pathlib import Path

from bot.intake.registry.method import AnyMethod
from tests.project.tracked import ROOT

NEEDS = {
    "exec.run": "request",
    "exec.approval.request": "request",
    "exec.wait": "request read",
    "exec.cancel": "request approve",
    "exec.tail": "request read",
    "exec.approval.waitDecision": "request read",
    "exec.approval.resolve": "approve",
    "exec.approval.list": "read",
    "exec.approval.get": "request read",
    "exec.approval.copies": "read",
    "exec.approval.evidence": "read",
    "exec.approvals.get": "read",
    "exec.approvals.set": "admin",
    "events.drain": "request read",
    "events.ack": "request",
    "sessions.list": "read",
    "history.list": "read",
    "insight.get": "read",
    "health.get": "read",
    "audit.rotate": "admin",
    "audit.verify": "read",
    "skills.bins": "read",
    "node.list": "read",
    "node.get": "read",
    "node.invoke": "request read admin",
    "exec.approvals.node.get": "read",
    "exec.approvals.node.set": "admin",
    "node.approve": "admin",
    "node.rename": "admin",
    "node.revoke": "admin",
    "policy.explain": "request read",
    "policy.rules": "read",
    "policy.backtest.start": "read",
    "policy.backtest.get": "read",
    "people.list": "approve admin",
    "people.add": "admin",
    "people.pair": "admin",
    "people.unlink": "admin",
    "people.revoke": "admin",
    "people.restore": "admin",
    "people.totp": "",
    "people.forgetTotp": "",
    "people.passkeys": "approve admin",
    "people.forgetPasskey": "",
    "grants.list": "read",
    "grants.revoke": "approve admin",
    "tasks.end": "approve admin",
    "lockdown.get": "read approve admin",
    "lockdown.engage": "approve admin",
    "lockdown.lift": "",
    "tool.call": "request",
    "exec.remote.run": "admin",
    "exec.remote.cancel": "admin",
    "exec.remote.output": "admin",
    "exec.remote.sessions": "read admin",
    "exec.remote.diagnostics": "read admin",
    "token.create": "",
    "agent.prompt": "request",
    "terminal.open": "request",
    "terminal.list": "request read",
    "terminal.end": "request approve",
    "terminal.input": "request",
    "terminal.resize": "request",
    "terminal.read": "request",
    "terminal.attach": "request",
    "page.login": "",
    "page.sessions": "approve admin",
    "page.end": "approve admin",
    "token.list": "admin",
    "token.revoke": "admin",
}
"""Which scopes let a caller over the network in; a new method is entered here on purpose."""


def missing(methods: Iterable[AnyMethod]) -> list[str]:
    """Return for each method that is not entered the file, the line and what to write there."""
    source = Path(__file__)
    lines = source.read_text(encoding="utf-8").splitlines()
    place = f"{source.relative_to(ROOT)}:{lines.index('}') + 1}"
    return [
        f'{place}: enter "{method.name}": "{" ".join(sorted(method.scopes))}"'
        for method in methods
        if method.name not in NEEDS
    ]
