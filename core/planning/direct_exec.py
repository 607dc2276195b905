"""Make the plan that is started from the approved one, without a shell that is only asked for.

What people see, what is judged and what history keeps is the plan as it was requested. Only outside
the sandbox, where nothing is bound because of what its commands are, the shell of ``sh -c PAYLOAD``
is not started at all: see ``core.policy.judge.direct_payload``.
"""

from dataclasses import replace

from core.model.command import ExecPlan
from core.planning.digest import bind, digest_of
from core.policy.judge.direct_payload import direct


def as_started(plan: ExecPlan) -> ExecPlan:
    """Return the plan whose commands are started, bound again; the same where no shell is left out.

    A plan that does not match its digest comes back as it is: verifying refuses it.
    """
    if not any(command.inner for command in plan.commands) or plan.unreadable is not None:
        return plan
    found = direct(plan)
    if found.commands == plan.commands or digest_of(plan) != plan.digest:
        return plan
    return bind(replace(plan, commands=found.commands, connectors=found.connectors))
