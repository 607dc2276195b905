"""Say in a list of approvals what state each one is in, whether ended or not."""

from pathlib import Path

from bot.intake.callers.caller import of_peer
from core.approvals.routing.approvers import Approvers
from core.ipc.peer import Peer
from core.store.people import people
from tests.support.api_tokens import DECIDE, LOOK, Api
from tests.support.gate import gate_at

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
