"""Mark the commands by which a gateway proves to itself that its entry points hold.

A mark is one exact command with a random number in it, drawn by this process, good for one judging.
Anyone who names the same session, agent or program without that number asks like anyone else, and a
marked command can only end in being held: there is nothing to gain by having one.

The command is ``touch`` of a file in ``$SAYSO_HOME/gate-proof``. So whatever ran it, by whatever
path, leaves a witness that no code of ours has to report.
"""

import re
import secrets
import shlex
from collections import OrderedDict
from dataclasses import dataclass, field, replace

from core.model.command import ExecPlan, ExecRequest
from core.model.decision import Decision, DenialReason, Evaluation, Reason
from core.model.identity import ApprovalId, SessionKey
from core.model.policy import ExecAsk
from core.model.result import Denied
from core.remote.denials import RemoteDenial

SESSION = SessionKey("gate-proof")
"""The name of a proof's session; it means nothing to the gate."""
FOLDER = "gate-proof"
"""The folder of the home in which a marked command would leave its witness."""
_REMEMBERED = 256
_NONCE_BYTES = 16
_NONCE_LENGTH = 2 * _NONCE_BYTES
_NUMBER = re.compile(rf"[0-9a-f]{{{_NONCE_LENGTH}}}")
_WITNESS = re.compile(rf"/{FOLDER}/([0-9a-f]{{{_NONCE_LENGTH}}})")


@dataclass(slots=True, eq=False)
class Mark:
    """One marked command, what the gate judged of it, and whether anything began to run it."""

    entry_point: str
    nonce: str
    argv: tuple[str, ...]
    judged: Decision | None = None
    reason: Reason | RemoteDenial | None = None
    started: bool = False

    @property
    def line(self) -> str:
        """Return the command as a line."""
        return shlex.join(self.argv)

    @property
    def witness(self) -> str:
        """Return the file that exists once the command has run."""
        return self.argv[-1]

    def is_asked_by(self, request: ExecRequest) -> bool:
        """Return whether a request is for exactly this command, as a line or as a vector."""
        return request.line == self.line or request.argv == self.argv

    def hardened(self, request: ExecRequest) -> ExecRequest:
        """Return the request with ``ask: always``, so that being held is right everywhere."""
        return replace(request, overrides=replace(request.overrides, ask=ExecAsk.ALWAYS))

    def hold(self, run_id: ApprovalId, evaluation: Evaluation) -> Denied:
        """Withdraw what a person would be asked about, or what is denied; nobody is notified."""
        self.judged, self.reason = evaluation.decision, evaluation.reason
        why = f"a gate proof, held as it must be and withdrawn: {evaluation.why}"
        return Denied(run_id, DenialReason.CANCELLED, why)

    def denied_by_listener(self, denial: RemoteDenial) -> None:
        """Note that the listener for other machines denied it, and by which condition."""
        self.judged, self.reason = Decision.DENY, denial


@dataclass(slots=True)
class Marks:
    """The marks that were drawn here; those that were judged are still watched for."""

    _drawn: OrderedDict[str, Mark] = field(default_factory=OrderedDict)

    def draw(self, entry_point: str, program: str, folder: str) -> Mark:
        """Mark a command for one proof of an entry point; ``program`` is ``touch``, by path."""
        nonce = secrets.token_hex(_NONCE_BYTES)
        mark = Mark(entry_point, nonce, (program, f"{folder}/{nonce}"))
        self._drawn[nonce] = mark
        while len(self._drawn) > _REMEMBERED:
            self._drawn.popitem(last=False)
        return mark

    def of(self, request: ExecRequest) -> Mark | None:
        """Return the mark of a request, until it was judged; ``None`` for everybody else's."""
        if not self._drawn:
            return None
        mark = self._mark_in(request.line or (request.argv[-1] if request.argv else ""))
        return mark if mark is not None and mark.is_asked_by(request) else None

    def of_vector(self, argv: object) -> Mark | None:
        """Return the mark that is exactly this vector, until it was judged; it may be anything."""
        if not self._drawn or not isinstance(argv, list | tuple) or not argv:
            return None
        mark = self._mark_in(argv[-1]) if isinstance(argv[-1], str) else None
        return mark if mark is not None and mark.argv == tuple(argv) else None

    def _mark_in(self, word: str) -> Mark | None:
        mark = self._drawn.get(word[-_NONCE_LENGTH:])
        return None if mark is None or mark.judged is not None else mark

    def started_by(self, plan: ExecPlan) -> Mark | None:
        """Return the mark whose number is anywhere in a plan that is about to run."""
        words = (plan.text, *(word for one in plan.commands for word in one.vector))
        for found in (match for word in words for match in _WITNESS.finditer(word)):
            if found[1] in self._drawn:
                return self._drawn[found[1]]
        return None

    def by_number(self, nonce: str) -> Mark | None:
        """Return the mark with this number, ``None`` if it was not drawn here or is forgotten."""
        return self._drawn.get(nonce)


def is_number(name: str) -> bool:
    """Return whether a file has the name of a marked command's witness."""
    return _NUMBER.fullmatch(name) is not None
