"""Put secrets into every part of an approval, and look for them in what is shown."""

from core.model.approval import Approval, ApprovalReply, ApprovalState
from core.model.identity import Actor
from tests.contracts.channel_examples import approval, plan, resolved
from tests.core.text.canaries import Canary


def everywhere(canary: Canary, size: int) -> Approval:
    """Return an approval that carries a secret in each field that others can fill."""
    text = canary.text + " " * 20 + "x" * size
    by = Actor("telegram", "42", canary.text)
    ended = resolved(ApprovalState.DENIED, ApprovalReply.DENY, by=by, note=canary.text)
    of = plan(text=text, cwd=f"/srv/{canary.text}", agent=canary.text, env=(canary.text,))
    return approval(of, why=canary.text, promise=(canary.text,), resolution=ended)


def leaks(canary: Canary, text: str) -> list[str]:
    """Return the secrets of a canary that are in a text."""
    return [secret for secret in canary.secrets if secret in text]
