"""Define what people are shown: a question, how it ended, a notice.

Every text in a card is ``Redacted``. A platform formats a card within its own limits; it never
reads the plan.
"""

from dataclasses import dataclass
from datetime import tzinfo

from channels.commands import Command
from core.model.approval import ApprovalState
from core.model.identity import ApprovalId
from core.text.render import Redacted

NOTHING = Redacted("")


@dataclass(frozen=True, slots=True)
class PromptCard:
    """A question, in full.

    ``size`` counts the characters of the exact command. ``concerns`` are the commands of a longer
    line that policy alone would not allow, each with its number. ``resolved`` are the programs that
    start, those of a wrapper below it, ``odd`` those among them that may deceive. ``does`` says
    what the command does, as far as the tables know, ``beyond`` what it does beyond its words,
    because of a hook or a file around it, unless ``clause`` says so. ``clause`` is why a person is
    asked (``plain``: only because of a list), ``why`` the same as a sentence; ``mixed``: several
    reasons. ``promise`` is what allow-always would store; empty means that it is not offered.
    ``shell`` is empty if no shell runs. ``whole`` is false if the command is too long to be shown:
    then nothing may offer to allow it. ``asked`` counts the identical requests that wait.
    ``people`` says how many must agree, if more than one. ``step_up``: no button allows it, only
    typed words do. Times are epoch ms and ms; ``zone`` is the people's time zone. ``plan_digest``,
    ``security`` and ``ask`` are for programs that show a card themselves. ``link`` is the
    question's page, empty if none can be opened; it grants no right.
    """

    id: ApprovalId
    code: str
    command: Redacted
    size: int
    segments: int
    concerns: tuple[Redacted, ...]
    cwd: Redacted
    agent: Redacted
    session: Redacted
    host: Redacted
    resolved: tuple[Redacted, ...]
    odd: tuple[Redacted, ...]
    does: Redacted
    clause: Redacted
    why: Redacted
    policy: Redacted
    promise: tuple[Redacted, ...]
    env_names: tuple[Redacted, ...]
    expires_at_ms: int
    answer_within_ms: int
    timeout_ms: int
    digest: str
    shell: Redacted
    whole: bool
    asked: int
    people: Redacted
    zone: tzinfo
    step_up: bool
    task: Redacted
    mixed: bool
    plain: bool
    plan_digest: str
    security: str
    ask: str
    link: Redacted
    beyond: tuple[Redacted, ...]

    @property
    def approvable(self) -> bool:
        """Return whether a platform that offers the whole command may offer to allow it."""
        return self.whole and bool(self.command.text)

    @property
    def allowed_on(self) -> str:
        """Return the page that a button opens because it cannot allow: a step-up is required."""
        return self.link.text if self.step_up and self.approvable else ""

    @property
    def offers_always(self) -> bool:
        """Return whether allow-always may be offered."""
        return self.approvable and bool(self.promise)

    @property
    def replies(self) -> str:
        """Return the decisions that ``/approve`` accepts here, as typed."""
        once = ["allow-once"] if self.approvable else []
        always = ["allow-always"] if self.offers_always else []
        return "|".join([*once, *always, "deny"])


@dataclass(frozen=True, slots=True)
class OutcomeCard:
    """How a question ended: what was asked, and the outcome in a sentence or two.

    ``clause`` says why it was asked, ``stored`` what an allow-always allows from then on.
    """

    id: ApprovalId
    code: str
    state: ApprovalState
    command: Redacted
    agent: Redacted
    headline: Redacted
    detail: Redacted
    digest: str
    clause: Redacted
    stored: tuple[Redacted, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """One button under a reply or a notice: its label and what pressing it means."""

    label: str
    command: Command


@dataclass(frozen=True, slots=True)
class NoticeCard:
    """Something that people should know and need not answer.

    ``choices`` are shown as buttons if the platform has buttons; who may press them is checked at
    the press. A notice that replaces an earlier one has none.
    """

    text: Redacted
    choices: tuple[Choice, ...] = ()
