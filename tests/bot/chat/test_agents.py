"""Stream what the agent says into a thread with ``/agent``, and let people decide there."""

import os
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from bot.chat.agent_threads import AgentThreads
from core.isolation.client import TERMINATED
from core.model.approval import ApprovalReply, ApprovalState
from core.model.identity import AgentId, Target
from core.model.policy import ExecAsk, ExecSecurity
from core.store import approvals
from core.store.approvals import idempotency
from core.store.outbox import agent_messages
from core.store.outbox.agent_messages import AgentMessage
from core.store.runs import recovery, runs
from core.store.sessions import agent_threads
from core.store.sessions.agent_threads import AgentThread
from tests.support.agent_chat import AgentChat, agent_chat
from tests.support.agents import workshop
from tests.support.chat import BOB, CARL, sending
from tests.support.gate import ANA, PLACE, layer
from tests.support.store_records import run_draft
from tests.support.waiting import until


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Yield the agents' folder."""
    with workshop() as found:
        yield found


@pytest.fixture
async def chat(tmp_path: Path, executor_path: str, folder: Path) -> AsyncIterator[AgentChat]:
    """Yield a chat with an agent."""
    async with agent_chat(tmp_path, executor_path, folder) as found:
        yield found


async def test_the_words_stream_into_the_thread(chat: AgentChat) -> None:
    """The message of the prompt has a thread; its last state has words, tokens and the ending."""
    reply = await chat.say("/agent main hello there", message="m1")
    (text,) = await chat.ended("m1")

    assert reply == "Given to main. Its words follow."
    head, _, words = text.partition("\n")
    assert " · main: completed (" in head
    assert "inputTokens 11, outputTokens 5)" in head
    assert words == "you said: hello there"


@pytest.mark.parametrize("reply", [ApprovalReply.ALLOW_ONCE, ApprovalReply.DENY])
async def test_its_questions_are_answered_in_the_thread(
    chat: AgentChat, reply: ApprovalReply
) -> None:
    """The card is in the thread; if allowed there, the file exists; if denied, it does not."""
    file = chat.work / f"asked-{reply}"
    await chat.say(f"/agent Main write {file}", message="m1")
    card = await chat.question("m1")
    assert not file.exists()
    await chat.channel.press(card.id, reply, ANA)
    said = await chat.ended("m1")

    assert ": completed" in said[-1]
    assert file.exists() is (reply is ApprovalReply.ALLOW_ONCE)
    assert ("yes-1" in said[-1]) is (reply is ApprovalReply.ALLOW_ONCE)


async def test_nobody_answers_in_time(tmp_path: Path, executor_path: str, folder: Path) -> None:
    """The agent is told no, and continues to its end."""
    async with agent_chat(tmp_path, executor_path, folder, timeout_ms=300) as chat:
        file = chat.work / "too-late"
        await chat.say(f"/agent main write {file}", message="m1")
        said = await chat.ended("m1")

    assert "no-1" in said[-1]
    assert ": completed" in said[-1]
    assert not file.exists()


async def test_stop_ends_the_newest_and_withdraws_its_question(chat: AgentChat) -> None:
    """Only where it was given, and only one's own; the withdrawn question says why."""
    await chat.say(f"/agent main write {chat.work}/never", message="m1")
    card = await chat.question("m1")
    elsewhere = await chat.say("/agent stop", place=Target("memory", "elsewhere"))
    stopped = await chat.say("/agent stop")
    said = await chat.ended("m1")
    assert card.prompt is not None
    found = await chat.gate.store.read(approvals.get, card.prompt.id)
    again = await chat.say("/agent stop")

    assert elsewhere.startswith("No prompt of yours is under way here.")
    assert stopped.endswith("is being stopped.")
    assert ": cancelled, stopped by Ana (memory) (" in said[-1].partition("\n")[0]
    assert found is not None
    assert found.resolution is not None
    assert (found.resolution.state, found.resolution.note) == (
        ApprovalState.CANCELLED,
        "the prompt was cancelled",
    )
    assert again == elsewhere


async def test_two_at_once_keep_apart_and_are_stopped_by_code(chat: AgentChat) -> None:
    """Each has its thread; a code stops the older one, and the newer continues."""
    await chat.say("/agent main hang", message="m1")
    await chat.say(f"/agent main write {chat.work}/two", message="m2")
    await until(lambda: any("hanging" in text for text in chat.thread("m1")))
    card = await chat.question("m2")
    code = chat.thread("m1")[0].partition(" ")[0]
    stopped = await chat.say(f"/agent stop {code}")
    assert stopped == f"{code} is being stopped."
    first = await chat.ended("m1")
    await chat.channel.press(card.id, ApprovalReply.DENY, ANA)
    second = await chat.ended("m2")

    assert ": cancelled" in first[-1]
    assert "hanging" in first[-1]
    assert ": completed" in second[-1]
    assert "hanging" not in "".join(second)


async def test_who_gave_a_prompt_learns_who_stopped_it(chat: AgentChat, tmp_path: Path) -> None:
    """Bob stops Ana's from another place: her thread names him, and so does the journal."""
    await chat.say("/agent main hang", message="m1")
    await until(lambda: any("hanging" in text for text in chat.thread("m1")))
    code = chat.thread("m1")[0].partition(" ")[0]
    await chat.say(f"/agent stop {code}", BOB, Target("memory", "elsewhere"))
    said = await chat.ended("m1")

    assert ": cancelled, stopped by Bob (memory) (" in said[-1].partition("\n")[0]
    assert '"note":"stopped by Bob (memory)"' in (tmp_path / "audit.jsonl").read_text()


async def test_only_a_prompt_is_stopped_as_one(chat: AgentChat) -> None:
    """A command's question is not a prompt; `/stop` withdraws it (the control)."""
    await chat.say("/run touch file", message="m1")
    await until(lambda: [one for one in chat.channel.shown.values() if one.open])
    (card,) = (one for one in chat.channel.shown.values() if one.open)
    assert card.prompt is not None
    refused = await chat.say(f"/agent stop {card.prompt.code}")
    found = await chat.gate.store.read(approvals.get, card.prompt.id)
    code = card.prompt.code
    assert refused == f"No prompt here has the id or code {code}. See /history."
    assert found is not None
    assert found.resolution is None
    assert (await chat.say(f"/stop {card.prompt.code}")).endswith("is being stopped.")


async def test_a_killed_executor_is_said(chat: AgentChat) -> None:
    """S2's words are the ending, on top of what was said; the gateway survives."""
    await chat.say("/agent main hang", message="m1")
    await until(lambda: any("hanging" in text for text in chat.thread("m1")))
    (run,) = chat.agents._runs.values()
    assert run.executor is not None
    assert run.executor.adopter is not None
    os.kill(run.executor.adopter[0], signal.SIGKILL)
    said = await chat.ended("m1")
    await chat.say("/agent main still there", message="m2")

    assert f" · main: failed: {TERMINATED} (" in said[-1].partition("\n")[0]
    assert said[-1].endswith("\nhanging")
    assert "still there" in (await chat.ended("m2"))[-1]


async def test_no_words_pass_for_ours(chat: AgentChat) -> None:
    """Text that hides or reverses is escaped, and the first line is never the agent's."""
    await chat.say("/agent main a\u202eb\x1b[2K\n7K3F9Q · main: completed", message="m1")
    (text,) = await chat.ended("m1")

    head, _, words = text.partition("\n")
    assert ": completed (" in head
    assert "\u202e" not in text
    assert "\x1b" not in text
    assert "a\\u{202E}b\\u{001B}[2K\n7K3F9Q \\u{00B7} main: completed" in words


async def test_long_words_are_cut_into_messages(chat: AgentChat) -> None:
    """As many as the chat needs, each numbered; the middle ones of very many are left out."""
    await chat.say("/agent main chunk 1500", message="m1")
    await until(lambda: _words(chat, "m1") == "\U0001f511" * 1500)
    three = await chat.ended("m1")
    await chat.say("/agent main chunk 20000", message="m2")
    many = await chat.ended("m2")

    assert [": goes on below" in text for text in three] == [True] * (len(three) - 1) + [False]
    assert f" · main ({len(three)}): completed" in three[-1]
    assert len(many) == 12
    assert "messages before this one are left out" in many[-1]


async def test_a_prompt_that_is_asked_about(
    tmp_path: Path, executor_path: str, folder: Path
) -> None:
    """Another person allows it in its thread; the person who gave it may not."""
    async with agent_chat(tmp_path, executor_path, folder, layer(ask=ExecAsk.ALWAYS)) as chat:
        await chat.say("/agent main hello there", message="m1")
        card = await chat.question("m1")
        await until(lambda: any(": waits for approval (" in text for text in chat.thread("m1")))
        own = await chat.channel.press(card.id, ApprovalReply.ALLOW_ONCE, ANA)
        assert not card.outcomes
        await chat.channel.press(card.id, ApprovalReply.ALLOW_ONCE, BOB)
        said = await chat.ended("m1")

    assert own is not None
    assert "own" in own.text.text
    assert said[-1].endswith("you said: hello there")


async def test_what_policy_forbids_is_said(
    tmp_path: Path, executor_path: str, folder: Path
) -> None:
    """With ``security: deny``, the default, an agent does not start."""
    async with agent_chat(
        tmp_path, executor_path, folder, layer(security=ExecSecurity.DENY)
    ) as chat:
        await chat.say("/agent main hello there", message="m1")
        (text,) = await chat.ended("m1")

    assert ": did not run (security_deny): " in text


async def test_a_killed_gateway_is_said(chat: AgentChat) -> None:
    """Its words stay; the next gateway puts above them that the end was not seen."""
    threads = chat.inbox.surroundings.threads
    draft = run_draft(owner="a dead gateway", key="killed")
    await chat.gate.store.write(runs.begin, draft)
    lost = AgentThread("killed", AgentId("main"), ANA.ref, PLACE)
    await chat.gate.store.write(agent_threads.create, lost)
    there = Target("memory", "room", thread="m1")
    await chat.gate.store.write(agent_threads.place_in, "killed", there)
    words = [AgentMessage("X: goes on below", "first"), AgentMessage("X: works", "second")]
    await chat.gate.store.write(agent_messages.show, "killed", words, ended=False)
    await until(lambda: len(chat.thread("m1")) == 2)
    await threads.resume()
    assert ": works" in chat.thread("m1")[-1]
    await chat.gate.store.write(recovery.recover, "boot-1")
    first, second = await chat.ended("m1")

    assert first == "X: goes on below\nfirst"
    assert " · main (2): ended: the gateway stopped while it worked" in second
    assert second.endswith("\nsecond")


async def test_who_may_not(chat: AgentChat) -> None:
    """A person who may not send starts nothing; the control is that Ana may."""
    said = [await chat.say(words, BOB) for words in ("/agent", "/agent main hello")]
    said += [await chat.say(words, CARL) for words in ("/agent", "/agent stop")]

    assert all(" is not in " in text for text in said), said
    assert await chat.gate.store.read(agent_threads.not_ended) == ()
    assert (await chat.say("/agent")).splitlines()[1:] == [f"main in {chat.work}"]


async def test_what_takes_no_prompts_says_what_to_do(chat: AgentChat, tmp_path: Path) -> None:
    """An unknown agent, a similar name, none at all, and executors switched off."""
    unknown = await chat.say("/agent nobody hello")
    similar = await chat.say("/agent mian hello")
    async with sending(chat.gate, chat.channel, agents={}) as inbox:
        chat.inbox = inbox
        none = await chat.say("/agent main hello")
    async with sending(chat.gate, chat.channel) as inbox:
        chat.inbox = inbox
        off = await chat.say("/agent main hello")

    assert "/agent lists those that do." in unknown
    assert "Did you mean main?" in similar
    assert "agents.list[].runtime" in none
    assert "execution.runAsUnixUser" in off


@pytest.mark.slow
async def test_a_gateway_that_starts_goes_on(chat: AgentChat) -> None:
    """The thread of an earlier gateway gets its words and its ending; the control waits until then.

    A thread whose gateway died before the prompt was submitted says so.
    """
    inbox = chat.inbox
    await chat.say("/agent main hang", message="m1")
    await until(lambda: any("hanging" in text for text in chat.thread("m1")))
    await inbox.surroundings.threads.stop()
    await chat.say("/agent stop")
    (thread,) = await chat.gate.store.read(agent_threads.not_ended)
    run_id = await chat.gate.store.read(idempotency.by_request_key, thread.key)
    assert run_id is not None
    await chat.gate.wait(run_id)
    assert ": works" in chat.thread("m1")[-1]

    lost = AgentThread("never", AgentId("main"), ANA.ref, PLACE)
    await chat.gate.store.write(agent_threads.create, lost)
    there = Target("memory", "room", thread="m2")
    await chat.gate.store.write(agent_threads.place_in, "never", there)
    threads = AgentThreads(chat.gate, inbox.surroundings.threads.channels, pace_s=0.05)
    await threads.resume()
    said = await chat.ended("m1")
    never = await chat.ended("m2")
    await threads.stop()

    assert ": cancelled, stopped by Ana (memory) (" in said[-1]
    assert "hanging" in said[-1]
    assert ": did not begin: the gateway stopped" in never[-1]


def _words(chat: AgentChat, message: str) -> str:
    """Return the agent's words in a thread, without our first lines."""
    return "".join(text.partition("\n")[2] for text in chat.thread(message))
