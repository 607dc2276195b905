"""Handle any answer of Slack to a call: it is reported, nothing is lost, no traceback."""

from dataclasses import replace
from typing import ClassVar

from channels.base import Resumable
from channels.cards.build import build_prompt
from core.model.identity import Target
from tests.channels.slack.workspace import ANA, CHANNEL, SlackWorkspace, ts_of
from tests.contracts.channel_examples import approval
from tests.contracts.odd_calls import (
    OddCall,
    OddCallsContract,
    post,
    posted_to,
    press,
    resume,
    update,
)
from tests.emulators.slack_methods import METHODS


async def resume_in_thread(at: OddCall) -> bool:
    """Look for a prompt in a thread."""
    assert isinstance(at.channel, Resumable)
    await at.channel.start(at.inbox)
    first = await at.channel.post(at.setup.target, build_prompt(approval()))
    thread = replace(at.setup.target, thread=ts_of(first))
    at.begin()
    return bool(await at.channel.resume(thread, build_prompt(approval())))


async def reply_of_unknown_thread(at: OddCall) -> bool:
    """Type the answer below a prompt, where the event does not say whose thread that is."""
    assert isinstance(at.setup, SlackWorkspace)
    await at.channel.start(at.inbox)
    message = await at.channel.post(at.setup.target, build_prompt(approval()))
    at.begin()
    absent = {"parent_user_id": None}
    await at.setup.server.people.say(CHANNEL, ANA, "no", ts_of(message), absent)
    await at.until_struck()
    return False


async def slash(at: OddCall) -> bool:
    """Send a slash command, which is answered at its own address."""
    assert isinstance(at.setup, SlackWorkspace)
    await at.channel.start(at.inbox)
    at.begin()
    await at.setup.slash("/approve 7k3f9q once")
    await at.inbox.take()
    return await at.replied()


class TestOddCalls(OddCallsContract):
    """The contract, over a socket."""

    first = ("auth.test", "apps.connections.open", "link")
    proved = ("auth.test", "apps.connections.open", "users.info", "usergroups.users.list")
    people = (ANA, "group:S0LEADS01")
    posted, edited = "chat.postMessage", "chat.update"
    uses: ClassVar = {
        "chat.postMessage": post,
        "chat.update": update,
        "chat.postEphemeral": press,
        "conversations.open": posted_to(Target("slack", ANA)),
        "conversations.history": resume,
        "conversations.replies": resume_in_thread,
        "conversations.replies: whose thread": reply_of_unknown_thread,
        "respond": slash,
    }
    believed: ClassVar = {
        *((one, "ok alone") for one in ("chat.update", "chat.postEphemeral", "respond")),
        *(("respond", page) for page in ("an empty 200", "blank JSON")),
    }
    offered: ClassVar = {*METHODS, "link", "respond"}
