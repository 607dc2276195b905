"""Find the past commands that an entry would have let run. Pure.

What people were asked about kept its plan, and that is judged. What ran without a question kept its
text only: its programs are taken to be those that the same words meant in the plans, else those of
``/usr/bin``, and what is held to the content of a script does not match. So the number is an
estimate; what people denied was always asked about, so it is exact.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from posixpath import basename

from core.model.approval import AllowlistEntry
from core.model.command import (
    ExecPlan,
    PinnedDirectory,
    PinnedFile,
    PlannedCommand,
    Reading,
    Word,
)
from core.model.decision import Decision, Evaluation
from core.model.identity import AgentId, SessionKey, TaskId
from core.model.policy import ExecAsk, ExecHost, ExecPolicy, ExecSecurity
from core.policy.judge.script_pins import held
from core.policy.matching.allowlist import Allowlist
from core.policy.matching.allowlist_union import Either
from core.policy.matching.matchers import surroundings
from core.policy.matching.path_patterns import at_home, is_literal
from core.shell.reader import read
from core.shell.working_directory import STEP

Judge = Callable[[ExecPlan, Allowlist], Evaluation]
"""Judge a plan under an allowlist that replaces the agent's own."""

LOOKED_AT = 500
"""How many commands of an agent a preview covers (issue 4, "Grants")."""
_SOMEWHERE = PinnedDirectory("/", 0, 0)


@dataclass(frozen=True, slots=True)
class Earlier:
    """A command of the past; ``plan`` is missing where nobody was asked.

    ``denied``: a person denied it.
    """

    text: str
    session: SessionKey
    plan: ExecPlan | None = None
    denied: bool = False
    task: TaskId | None = None


@dataclass(frozen=True, slots=True)
class Preview:
    """How many of the commands checked would have run, and the text of each denied one."""

    looked: int
    matched: int
    denied: tuple[str, ...]


def by_lists(policy: ExecPolicy) -> ExecPolicy:
    """Return a policy as a preview needs it: lists decide, whatever a call or session changed."""
    return replace(policy, security=ExecSecurity.ALLOWLIST, ask=ExecAsk.ON_MISS)


class History:
    """The last commands of one agent, the newest first; ``home`` is what ``~`` means."""

    def __init__(self, agent: AgentId, commands: Sequence[Earlier], home: str) -> None:
        self._agent = agent
        self._commands = commands
        self._home = home
        plans = [one.plan for one in commands if one.plan is not None]
        self._known = _programs(plans)
        self._folder = plans[0].cwd if plans else _SOMEWHERE

    def preview(
        self,
        entries: Sequence[AllowlistEntry],
        own: Allowlist,
        judge: Judge,
        session: SessionKey | None = None,
        task: TaskId | None = None,
    ) -> Preview:
        """Return what the entries would have let run in addition to the agent's ``own``.

        A command counts if all of it would have run, one of the entries being used. ``session``
        and ``task``: they hold in these only.
        """
        wanted = Allowlist(entries, self._home)
        both, words = Either(wanted, own), {entry.words for entry in entries}
        here = [
            one
            for one in self._commands
            if session in {None, one.session} and task in {None, one.task}
        ]
        matched = [
            one
            for one, plan in self._concerned(entries, wanted, here)
            if _passes(judge(plan, both), words)
        ]
        denied = tuple(one.text for one in matched if one.denied)
        return Preview(len(self._commands), len(matched), denied)

    def _concerned(
        self, entries: Sequence[AllowlistEntry], wanted: Allowlist, commands: Sequence[Earlier]
    ) -> Iterator[tuple[Earlier, ExecPlan]]:
        """Find the commands with a program that an entry covers; the others need no judge."""
        programs = {**_own(entries, self._home), **self._known}
        names = _names(entries, programs, self._home)
        for one in commands:
            plan = one.plan
            if plan is None and (names is None or any(name in one.text for name in names)):
                plan = self._read(one, programs)
            if plan is not None and any(_covers(wanted, each, plan) for each in plan.commands):
                yield one, plan

    def _read(self, one: Earlier, programs: Mapping[str, PinnedFile]) -> ExecPlan | None:
        """Return a plan of a text as far as its words determine it, or ``None``."""
        reading = read(one.text)
        if not isinstance(reading, Reading):
            return None
        commands = []
        for argv in reading.argvs:
            if argv[0] == STEP:
                continue
            words = _plain(argv)
            if words is None:
                return None
            commands.append(PlannedCommand(words, programs.get(words[0]) or _assumed(words[0])))
        return ExecPlan(
            text=one.text,
            commands=tuple(commands),
            connectors=(),
            unreadable=None,
            cwd=self._folder,
            env=(),
            requested_env=(),
            host=ExecHost.GATEWAY,
            node=None,
            agent=self._agent,
            session=one.session,
            timeout_ms=0,
            digest="",
        )


def _programs(plans: Sequence[ExecPlan]) -> dict[str, PinnedFile]:
    """Return what bare names meant, as the newest plan has it."""
    found: dict[str, PinnedFile] = {}
    for plan in plans:
        for command in plan.commands:
            for one in (command, *command.effective):
                if one.executable is not None and "/" not in one.argv[0]:
                    found.setdefault(one.argv[0], one.executable)
    return found


def _own(entries: Sequence[AllowlistEntry], home: str) -> dict[str, PinnedFile]:
    """Return the programs that entries name, for words that no plan knows."""
    paths = (at_home(entry.pattern, home) for entry in entries)
    return {basename(path): _file(path) for path in paths if is_literal(path)}


def _names(
    entries: Sequence[AllowlistEntry], programs: Mapping[str, PinnedFile], home: str
) -> frozenset[str] | None:
    """Return words of which a text must hold one, ``None`` where any could do."""
    paths = {at_home(entry.pattern, home) for entry in entries}
    if not all(map(is_literal, paths)):
        return None
    alike = (word for word, file in programs.items() if {file.path, file.realpath} & paths)
    return frozenset((*map(basename, paths), *alike))


def _covers(wanted: Allowlist, command: PlannedCommand, plan: ExecPlan) -> bool:
    file = command.executable
    if file is not None:
        paths, arguments = (file.path, file.realpath), command.argv[1:]
        at = surroundings(command, plan.cwd.path)
        if wanted.match(paths) or wanted.match_vector(paths, arguments, at, strict=False):
            return True
        if held(wanted, paths, None, command) or held(wanted, paths, arguments, command):
            return True
    return any(_covers(wanted, one, plan) for one in command.inner)


def _passes(verdict: Evaluation, words: set[str]) -> bool:
    used = (entry for segment in verdict.segments for entry in segment.entries)
    return verdict.decision is Decision.ALLOW and not words.isdisjoint(used)


def _plain(argv: Sequence[Word]) -> tuple[str, ...] | None:
    words = tuple(word for word in argv if isinstance(word, str))
    return words if len(words) == len(argv) else None


def _assumed(word: str) -> PinnedFile:
    return _file(word if word.startswith("/") else f"/usr/bin/{word}")


def _file(path: str) -> PinnedFile:
    return PinnedFile(path, path, 0, 0, 0, "")
