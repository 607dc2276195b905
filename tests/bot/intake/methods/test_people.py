"""Answer in the methods about people whether it was done, or why it was not."""

import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.intake.callers import unix_peer
from bot.intake.callers.caller import Caller, of_peer
from bot.intake.callers.terminal import Askers
from bot.intake.methods.people import PeopleMethods
from bot.intake.registry.method import invoke
from core.audit.journal import AuditJournal
from core.errors import NotFound
from core.ipc.peer import Peer, start_ticks
from core.store import open_store
from core.store.people import passkeys
from core.trust.sealing import SEALING_KEY, Seals
from tests.support.terminal import terminal
from tests.support.waiting import until

KEY = "k" * 43
PROGRAM = of_peer(Peer(1, os.getuid(), os.getgid()))
GIVING = ("add", "pair", "unlink", "restore", "totp", "forgetTotp", "forgetPasskey")


class Directory:
    """The methods over a store with Ana, who has a passkey; ``person`` is at a terminal."""

    def __init__(self, methods: PeopleMethods, journal: Path, person: Caller) -> None:
        self._table = {one.name: one for one in methods.methods()}
        self.journal = journal
        self.person = person

    async def call(self, caller: Caller, method: str, /, **params: str) -> dict[str, object]:
        """Call a method."""
        answer = await invoke(self._table[f"people.{method}"], dict(params), caller)
        assert isinstance(answer, dict)
        return answer

    @property
    def recorded(self) -> list[str]:
        """Return the actions in the journal."""
        lines = self.journal.read_text().splitlines() if self.journal.exists() else []
        return [str(json.loads(line)["what"]) for line in lines]


@pytest.fixture
async def directory(tmp_path: Path) -> AsyncIterator[Directory]:
    """Yield them."""
    tmp_path.chmod(0o700)
    store = await open_store(f"sqlite:///{tmp_path / 'state.db'}")
    path = tmp_path / "audit.jsonl"
    with AuditJournal(path) as journal, terminal("sleep", "60") as (process, _):
        methods = PeopleMethods(store, journal, Askers(store), Seals(tmp_path / SEALING_KEY))
        peer = Peer(process.pid, os.getuid(), os.getgid(), start_ticks(process.pid))
        await until(lambda: unix_peer.at_terminal(peer))
        found = Directory(methods, path, of_peer(peer))
        await found.call(found.person, "add", name="ana")
        await store.write(passkeys.add, "ana", KEY, "public", 0, "a browser", "uid:0")
        yield found
    await store.close()


@pytest.mark.parametrize(
    ("method", "params", "first", "again"),
    [
        ("add", {"name": "bo"}, True, True),
        ("totp", {"name": "ana"}, True, True),
        ("forgetPasskey", {"id": KEY}, True, False),
        ("unlink", {"account": "telegram:42"}, False, False),
        ("forgetTotp", {"name": "ana"}, False, False),
        ("restore", {"who": "ana"}, False, False),
        ("revoke", {"who": "ana"}, True, True),
        ("pair", {"name": "ana"}, True, True),
    ],
)
async def test_the_answer_says_whether_it_was_done(
    directory: Directory, method: str, params: dict[str, str], first: bool, again: bool
) -> None:
    """What does not exist cannot be removed, and the caller is told."""
    said = [await directory.call(directory.person, method, **params) for _ in range(2)]

    assert [one["done"] for one in said] == [first, again]


async def test_what_was_given_is_taken_away_once(directory: Directory) -> None:
    """An app that was enrolled, and a right that was revoked."""
    await directory.call(directory.person, "totp", name="ana")
    await directory.call(directory.person, "revoke", who="ana")
    for method, params in (("forgetTotp", {"name": "ana"}), ("restore", {"who": "ana"})):
        said = [await directory.call(directory.person, method, **params) for _ in range(2)]
        assert [one["done"] for one in said] == [True, False], method


@pytest.mark.parametrize("method", GIVING)
async def test_a_program_is_refused_and_nothing_changes(directory: Directory, method: str) -> None:
    """Only a person at a terminal gives rights; the answer has no code and no secret in it."""
    params = {"unlink": {"account": "telegram:42"}, "restore": {"who": "ana"}}
    given = params.get(method, {"id": KEY} if method == "forgetPasskey" else {"name": "ana"})
    before = (
        await directory.call(directory.person, "list"),
        await directory.call(directory.person, "passkeys"),
    )

    refused = await directory.call(PROGRAM, method, **given)

    assert refused.pop("done") is False
    assert "Only a person at a terminal" in str(refused.pop("sentence"))
    assert refused == {}
    assert before == (
        await directory.call(directory.person, "list"),
        await directory.call(directory.person, "passkeys"),
    )
    assert directory.recorded == ["add"]


async def test_a_program_may_take_a_right_away(directory: Directory) -> None:
    """Revoking needs no terminal: a person who notices something is not delayed."""
    assert (await directory.call(PROGRAM, "revoke", who="ana"))["done"] is True
    assert directory.recorded == ["add", "revoke"]


@pytest.mark.parametrize("method", ["revoke", "restore"])
async def test_a_name_must_be_somebodys_and_an_account_need_not(
    directory: Directory, method: str
) -> None:
    """An account may be one that no one has linked; a misspelt name would change nothing."""
    with pytest.raises(NotFound, match="Nobody has the name or account 'anna'"):
        await directory.call(directory.person, method, who="anna")

    known = await directory.call(directory.person, method, who="telegram:42")

    assert known["done"] is (method == "revoke")
