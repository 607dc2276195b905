"""Say in a list of approvals what state each one is in, whether ended or not."""

from pathlib import Path

from bot.intake.callers.caller import of_peer
from core.approvals.routing.approvers import Approvers
from core.ipc.peer import Peer
from core.store.people import people
from tests.support.api_tokens import DECIDE, LOOK, Api
from tests.support.gate import gate_at
from tests.support.git_repositories import repository
from tests.support.runs import script

HERE = of_peer(Peer(1, 0, 0))
ANA = Approvers({}, everywhere=frozenset({"person:ana"}))


async def test_what_waits_has_no_end_and_what_was_denied_has_one_without_terms(
    tmp_path: Path,
) -> None:
    """The fields of an end are null until there is one; only an allow has terms."""
    async with gate_at(tmp_path, people=ANA) as gate:
        api = Api.of(gate)
        run = {"command": "id", "cwd": str(tmp_path), "wait": False}
        asked = await api.call(HERE, "exec.run", **run)
        pending = (await api.call(HERE, "exec.approval.list"))["pending"]
        assert isinstance(pending, list)
        (waiting,) = pending
        await gate.store.write(people.add, "ana")
        ana = await api.caller("ana", DECIDE, LOOK, person="ana")
        await api.call(ana, "exec.approval.resolve", id=asked["id"], decision="deny")
        denied = await api.call(HERE, "exec.approval.get", id=asked["id"])

    keys = ("decision", "by", "atMs", "terms")
    assert ("pending", [None] * 4) == (waiting["state"], [waiting[key] for key in keys])
    assert ("deny", None) == (denied["decision"], denied["terms"])
    assert denied["by"]


async def test_a_hook_is_in_the_answer(tmp_path: Path) -> None:
    """With its digest, as in the prompt; a command without one has none."""
    place = repository(tmp_path / "place")
    script(place / ".git/hooks/pre-commit", "#!/bin/sh\n")
    async with gate_at(tmp_path, people=ANA) as gate:
        api = Api.of(gate)
        for command in ("git commit -am x", "git log"):
            await api.call(HERE, "exec.run", command=command, cwd=str(place), wait=False)
        pending = (await api.call(HERE, "exec.approval.list"))["pending"]

    assert isinstance(pending, list)
    also = {one["command"]: one["also"] for one in pending}
    assert also["git log"] == []
    assert len(also["git commit -am x"]) == 1
    assert f"it runs the hook `{place}/.git/hooks/pre-commit`" in also["git commit -am x"][0]
