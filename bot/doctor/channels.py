"""Check the channels: tokens, scopes, people, and by a real prompt that answers come back.

The first half asks each platform and sends nothing. The second half tests the whole path: a
question about ``true`` through the running gateway, its copies as the outbox reports them, and the
answer.
"""

import asyncio
import time
from collections.abc import Iterator, Sequence

from bot.client import Client
from bot.documentation import document
from bot.factories.channels import approvers, make_channels, senders
from bot.gate_proof.test_prompt import new_session
from bot.health.check import Finding, Verdict, ask_platform
from bot.settings import Settings
from channels.base import Channel, Proof, Provable

_PATIENCE_S = 20.0
_DELIVERY_S = 15.0
_LOOK_S = 0.25
_OPEN = ("ready", "sending")


def prove_channels(settings: Settings) -> tuple[Finding, ...]:
    """Ask each configured platform whether it knows us and our people; send nothing."""
    return asyncio.run(_prove_all(settings))


async def _prove_all(settings: Settings) -> tuple[Finding, ...]:
    channels = make_channels(settings, None)
    if not channels:
        why = f"no chat platform is configured; see {document('docs/how-to')}"
        return (Finding(Verdict.WARN, "channels", why),)
    proofs = await asyncio.gather(
        *(_prove(name, channel, _people(settings, name)) for name, channel in channels.items())
    )
    return tuple(finding for found in proofs for finding in found)


def _people(settings: Settings, channel: str) -> tuple[str, ...]:
    """Return the references of a channel's approvers and senders."""
    listed = approvers(settings).listing()
    head = f"{channel}:"
    over_all = {entry.removeprefix(head) for entry in listed.everywhere if entry.startswith(head)}
    acting = senders(settings).by_channel.get(channel, frozenset())
    return tuple(sorted(listed.by_channel.get(channel, frozenset()) | over_all | acting))


async def _prove(name: str, channel: Channel, people: tuple[str, ...]) -> Sequence[Finding]:
    if not isinstance(channel, Provable):
        return (Finding(Verdict.WARN, name, "has no self-check; use --prompt for a real test"),)

    async def proved() -> Sequence[Finding]:
        proofs = await channel.prove(people)
        return [Finding(_verdict(one), f"{name} {one.subject}", one.detail) for one in proofs]

    return await ask_platform(name, proved, _PATIENCE_S)


def _verdict(proof: Proof) -> Verdict:
    if proof.ok:
        return Verdict.OK
    return Verdict.FAIL if proof.serious else Verdict.WARN


def prove_by_prompt(settings: Settings, seconds: float) -> Iterator[Finding]:
    """Ask about ``true`` everywhere, and wait for one answer; yield each finding as it comes.

    Raises:
        SaysoError: no gateway runs, or it could not ask.
    """
    with Client(str(settings.home / "gateway.sock")) as client:
        params: dict[str, object] = {
            "argv": ["true"],
            "cwd": "/",
            "session": new_session(),
            "ask": "always",
            "wait": False,
        }
        asked = client.call("exec.run", params)
        if asked["status"] != "pending":
            why = f"nobody was asked: {asked.get('why', asked['status'])}"
            yield Finding(Verdict.FAIL, "test prompt", why)
            return
        yield from _copies(client, str(asked["id"]))
        yield _answer(client, str(asked["id"]), str(asked["code"]), seconds)


def _copies(client: Client, approval: str) -> Iterator[Finding]:
    """Wait until every copy was accepted or given up, and report which."""
    until = time.monotonic() + _DELIVERY_S
    while True:
        copies = client.call("exec.approval.copies", {"id": approval})["copies"]
        if all(copy["state"] not in _OPEN for copy in copies) or time.monotonic() > until:
            break
        time.sleep(_LOOK_S)
    if not copies:
        why = "has no chat to prompt in; prompts appear only in `sayso pending`"
        yield Finding(Verdict.WARN, "test prompt", why)
    for copy in copies:
        place = f"{copy['channel']} {copy['to']}"
        if copy["state"] in ("sent", "stale", "closed"):
            yield Finding(Verdict.OK, place, "the test prompt was accepted")
        else:
            why = f"the test prompt is {copy['state']}: {copy['why'] or 'still being tried'}"
            yield Finding(Verdict.FAIL, place, why)


def _wait_until_closed(client: Client, approval: str) -> None:
    """Wait a little while until no copy has buttons any more: a gateway may stop right after."""
    until = time.monotonic() + _DELIVERY_S / 3
    while time.monotonic() < until:
        copies = client.call("exec.approval.copies", {"id": approval})["copies"]
        if all(copy["state"] not in (*_OPEN, "sent", "stale") for copy in copies):
            return
        time.sleep(_LOOK_S)


def _answer(client: Client, approval: str, code: str, seconds: float) -> Finding:
    try:
        ended = client.call("exec.wait", {"id": approval, "timeoutMs": round(seconds * 1000)})
        failing = _failing_channels(client) if ended["status"] == "pending" else ""
    finally:
        client.call("exec.cancel", {"id": approval})
        _wait_until_closed(client, approval)
    match ended["status"]:
        case "finished":
            return Finding(Verdict.OK, "answer", f"{code} was allowed, and `true` ran")
        case "denied" if ended["reason"] == "approver_denied":
            return Finding(Verdict.OK, "answer", f"{code} was denied, so answers come back")
        case _:
            why = f"nobody answered {code} within {seconds:.0f} s"
            return Finding(Verdict.WARN, "answer", f"{why}; {failing or 'press a button on it'}")


def _failing_channels(client: Client) -> str:
    """Return what the gateway reports about channels that bring no answers; may be empty."""
    parts = client.call("health.get", {})["parts"].items()
    bad = (f"{name}: {part['detail']}" for name, part in parts if not part["ok"])
    return "; ".join(one for one in bad if one.startswith("channel "))
