"""Count every way to answer: buttons, choices, typed commands, replies."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

from channels.memory import MemoryChannel
from core.model.approval import HALF_HOUR, THIS_SESSION, Approval, ApprovalReply, GrantTerms
from core.model.decision import DenialReason
from core.model.identity import DEFAULT_AGENT, SessionKey
from core.model.result import Denied, Finished
from core.store.approvals import grants
from tests.contracts.channel_setup import PeopleSetup
from tests.contracts.people_gateway import GatewayRules, people_gateway
from tests.contracts.people_prompts import PeopleGateway

_ONCE, _ALWAYS, _DENY = ApprovalReply


@dataclass(frozen=True, slots=True)
class Scope:
    """A choice behind "Always allow…": its label, how it is typed, what is said and stored."""

    label: str
    typed: str
    told: str
    shown: str
    reply: ApprovalReply = _ALWAYS
    terms: GrantTerms | None = None


_SCOPES = {
    "uptime": Scope(
        *("30 min", "30m", "Allowed for 30 minutes", "Allowed for 30 minutes"), terms=HALF_HOUR
    ),
    "hostname": Scope(
        *("This session", "session", "Allowed in this session", "Allowed in this session"),
        terms=THIS_SESSION,
    ),
    "nproc": Scope("Always", "allow-always", "Always allowed from now on", "Allowed always"),
    "whoami": Scope("Only once", "allow-once", "Allowed once", "Allowed once", _ONCE),
}


@dataclass(frozen=True, slots=True)
class Form:
    """A typed answer, and what it means."""

    text: str
    reply: ApprovalReply = _ONCE
    note: str = ""
    slash: bool = False


_FORMS = (
    Form("/approve {code} allow-once", slash=True),
    Form("/approve {prefix} deny", _DENY, slash=True),
    Form("/approve {code} deny because it is live", _DENY, "it is live", slash=True),
    Form("approve {code} once"),
    Form("approve deny {code} wrong branch", _DENY, "wrong branch"),
    Form("approve {lower} reject", _DENY),
)
_REPLIES = (
    Form("no", _DENY),
    Form("deny because it is live", _DENY, "it is live"),
    Form("yes"),
)
_TOLD = {_ONCE: "Allowed once", _DENY: "Denied"}


class AnswersContract:
    """Answers by button, by command and by reply."""

    two_steps = True
    """Whether "Always allow…" asks how long before it decides; a terminal has no second step."""
    mentions: tuple[str, ...] = ("@sayso {}",)
    """How the bot is mentioned in a typed line."""

    async def test_allow_once_runs_it_and_each_copy_says_who_and_when(
        self, setup: PeopleSetup, other: MemoryChannel, tmp_path: Path
    ) -> None:
        """What is allowed runs once; both copies name the person and the time, without buttons."""
        async with people_gateway(tmp_path, setup, other, GatewayRules()) as gateway:
            asked = await gateway.ask()
            message = await gateway.shown(asked)
            assert setup.can_press(message)
            await setup.press(message, _ONCE)
            await setup.sees(f"Allowed once: {asked.code}.")
            result = await gateway.run(asked)
            end = await gateway.closes(asked, "Allowed once")

        assert isinstance(result, Finished)
        assert 0 == result.exit_code
        assert (tmp_path / "made").exists()
        assert end.resolution is not None
        assert end.resolution.by is not None
        assert f"{gateway.here}:{setup.account}" == end.resolution.by.ref

    async def test_deny_runs_nothing(
        self, setup: PeopleSetup, other: MemoryChannel, tmp_path: Path
    ) -> None:
        """What is denied does not run, and the agent is told so."""
        async with people_gateway(tmp_path, setup, other, GatewayRules()) as gateway:
            asked = await gateway.ask()
            await setup.press(await gateway.shown(asked), _DENY)
            await setup.sees(f"Denied: {asked.code}.")
            result = await gateway.run(asked)
            await gateway.closes(asked, "Denied")

        assert isinstance(result, Denied)
        assert DenialReason.APPROVER_DENIED is result.reason
        assert not (tmp_path / "made").exists()

    async def test_each_choice_stores_what_it_promised(
        self, setup: PeopleSetup, other: MemoryChannel, tmp_path: Path
    ) -> None:
        """Behind "Always allow…" each choice lets run, and later asks, exactly as it said."""
        async with people_gateway(tmp_path, setup, other, GatewayRules()) as gateway:
            for program, scope in _SCOPES.items():
                asked = await gateway.ask(program)
                await self._choose(gateway, await gateway.shown(asked), asked, scope)
                result = await gateway.run(asked)
                end = (await gateway.closes(asked, scope.shown)).resolution
                assert isinstance(result, Finished), program
                assert end is not None
                assert (scope.reply, scope.terms) == (end.reply, end.terms)
            assert {"uptime": "", "hostname": "", "nproc": "", "whoami": "?"} == await _asks(
                gateway
            )
            assert {"hostname": "?", "whoami": "?"} == {
                program: asks for program, asks in (await _asks(gateway, "other")).items() if asks
            }
            given = await gateway.gate.store.read(grants.active, DEFAULT_AGENT, SessionKey("main"))

        assert {"/usr/bin/uptime", "/usr/bin/hostname"} == {
            promise.pattern for grant in given for promise in grant.promise
        }
        stored = (tmp_path / "exec-approvals.json").read_text()
        assert "/usr/bin/nproc" in stored
        assert all(f"/usr/bin/{other}" not in stored for other in ("uptime", "hostname", "whoami"))

    async def _choose(
        self, gateway: PeopleGateway, message: str, asked: Approval, scope: Scope
    ) -> None:
        if self.two_steps:
            await gateway.setup.press(message, _ALWAYS)
            await gateway.setup.sees(f"{asked.code}: allow-always lets agent main run this")
            await gateway.setup.sees(asked.evaluation.promise[0].pattern)
            await gateway.setup.press_choice(scope.label)
        else:
            await gateway.setup.type(f"/approve {asked.code} {scope.typed}")
        await gateway.setup.sees(f"{scope.told}: {asked.code}.")

    async def test_each_text_form_counts(
        self, setup: PeopleSetup, other: MemoryChannel, tmp_path: Path
    ) -> None:
        """With the slash, without, after a mention, in either order, by a prefix, with a reason."""
        mentioned = tuple(Form(one.format("approve {code} allow-once")) for one in self.mentions)
        forms = _FORMS + mentioned
        async with people_gateway(tmp_path, setup, other, GatewayRules()) as gateway:
            every = await asyncio.gather(
                *(gateway.ask(f"touch made-{n}") for n in range(len(forms)))
            )
            for asked in every:
                await gateway.shown(asked)
            for asked, form in zip(every, forms, strict=True):
                said = _worded(form, asked)
                await (setup.slash(said) if form.slash else setup.type(said))
                await _decides(gateway, asked, form)

        made = {f"made-{n}" for n, form in enumerate(forms) if form.reply is _ONCE}
        assert made == {path.name for path in tmp_path.glob("made-*")}

    async def test_a_bare_reply_to_the_prompt_counts(
        self, setup: PeopleSetup, other: MemoryChannel, tmp_path: Path
    ) -> None:
        """A reply that is just yes, no or a reason answers the prompt that it replies to."""
        async with people_gateway(tmp_path, setup, other, GatewayRules()) as gateway:
            for form in _REPLIES:
                asked = await gateway.ask()
                await setup.reply(await gateway.shown(asked), form.text)
                await _decides(gateway, asked, form)
                await gateway.closes(asked, _TOLD[form.reply])
                assert (tmp_path / "made").exists() is (form is _REPLIES[-1])


def _worded(form: Form, asked: Approval) -> str:
    code = asked.code
    return form.text.format(code=code, lower=code.lower(), prefix=asked.id[: len(code) + 3])


async def _decides(gateway: PeopleGateway, asked: Approval, form: Form) -> None:
    """Wait until an answer is confirmed, decided as meant, and carried out."""
    await gateway.setup.sees(f"{_TOLD[form.reply]}: {asked.code}.")
    result = await gateway.run(asked)
    end = (await gateway.approval(asked.id)).resolution
    assert end is not None, form
    assert end.by is not None
    assert (form.reply, form.note) == (end.reply, end.note), form
    assert (gateway.here, gateway.setup.account) == (end.by.channel, end.by.account)
    assert isinstance(result, Denied if form.reply is _DENY else Finished)


async def _asks(gateway: PeopleGateway, session: str = "main") -> dict[str, str]:
    """Return for each program whether it asks again: ``?``, or empty."""
    asks = {}
    for program in _SCOPES:
        asked = await gateway.submit(program, session)
        asks[program] = "" if isinstance(asked, Finished) else "?"
    return asks
