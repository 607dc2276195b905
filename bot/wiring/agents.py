"""Connect what runs agents with the gate: who decides on tool calls, and who hears messages."""

from functools import partial

from core.gate import Gate
from core.isolation.agents import Agents
from core.model.command import ExecPlan
from core.model.events import EventKind
from core.model.identity import ApprovalId
from core.store.sessions import events


def connect_agents(agents: Agents, gate: Gate) -> None:
    """Have the gate decide on agents' tool calls, and sessions hear what agents say."""

    async def tell(plan: ExecPlan, run_id: ApprovalId, text: str) -> None:
        event = events.NewEvent(plan.session, EventKind.MESSAGE, text, run_id)
        await gate.store.write(partial(events.append_one, event=event))

    agents.gate = gate
    agents.tell = tell
