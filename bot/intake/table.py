"""Make the one table of methods that every way in serves (DESIGN §5 "API")."""

from collections.abc import Awaitable, Callable, Iterable

from bot.gate_proof.prover import Prover
from bot.intake.approvals_file import ApprovalsFileMethods
from bot.intake.grants import GrantMethods
from bot.intake.lockdown import LockdownMethods
from bot.intake.methods import Part, Table, table_of
from bot.intake.outlook import OutlookMethods
from bot.intake.people import PeopleMethods
from bot.intake.questions import QuestionMethods
from bot.intake.records import RecordMethods
from bot.intake.runs import RunMethods
from bot.intake.terminal import Askers
from bot.intake.tokens import TokenMethods
from bot.intake.tools import ToolMethods
from core.gate import Gate


def method_table(
    gate: Gate,
    health: Callable[[], Awaitable[dict[str, object]]],
    more: Iterable[Part] = (),
    prover: Prover | None = None,
) -> Table:
    """Return all methods; ``health`` answers ``health.get``, ``more`` are further groups.

    ``prover`` proves the gate before a lockdown is lifted; without one none is.
    """
    askers = Askers(gate.store)
    return table_of(
        (
            RunMethods(gate, askers),
            QuestionMethods(gate),
            ApprovalsFileMethods(gate, askers),
            RecordMethods(gate.store),
            OutlookMethods(gate, health),
            PeopleMethods(gate, askers),
            GrantMethods(gate),
            LockdownMethods(gate, askers, prover),
            TokenMethods(gate, askers),
            ToolMethods(gate, askers),
            *more,
        )
    )
