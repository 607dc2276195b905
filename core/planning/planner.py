"""Plan a request: read it once, resolve its programs, bind everything that the run depends on."""

# ruff: noqa: PTH117
# pathlib is ten times slower here and rewrites paths (`a/` becomes `a`).

import asyncio
import os
import shlex
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from core.model.command import (
    UNROUTED,
    Connector,
    ExecPlan,
    ExecRequest,
    PinnedDirectory,
    PlannedCommand,
    Unreadable,
)
from core.model.decision import DenialReason
from core.model.policy import ExecHost, ExecPolicy
from core.model.stdio import Environ
from core.planning.code.files.fed import with_fed
from core.planning.command import plan_command, plan_shell
from core.planning.digest import bind
from core.planning.environment import Tables, account_of
from core.planning.expand import (
    ExpandedCommand,
    ExpandedLine,
    NoFolder,
    entered,
    expand,
)
from core.planning.further_code import with_further_code
from core.planning.git.line_effects import with_effects
from core.planning.git.other_folder import OPTION, without_folder
from core.planning.paths.pins import HashingLimit, Unpinned, hashing_at_most, pin_directory
from core.planning.paths.search_path import DEFAULT_SEARCH_PATH, SearchPath
from core.planning.request_checks import request_fault, terminal_fault
from core.planning.steering import steering
from core.planning.terminal_part import terminal_argv, terminal_text
from core.programs.neutral_environment import (
    Pairs,
    everywhere_for,
    neutral_environment,
    union,
)
from core.shell import reader
from core.shell.working_directory import depends_on_surroundings

_SURROUNDINGS = frozenset(("HOME", "PWD", "OLDPWD", "CDPATH"))
"""Names by which a request could give ``cd``, ``~`` and ``$PWD`` another meaning to a shell."""

LONGEST_RUN_MS = 24 * 60 * 60 * 1000

_MADE_BEFORE = "if an earlier command creates it, request that command first, then this one"
"""What to do about a program that is looked up before anything runs (`make && ./app`)."""

_LITTLE_TEXT = 2_048
_LITTLE_HASHED = 16 << 20
"""Characters and bytes that do not hold up an event loop for long."""
_MOST_HASHED = 2 << 30
"""Bytes of all files that one request may bind."""
_THREADS = 2

RunAs = Callable[[ExecRequest], str]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why no plan can be made; ``why`` is one sentence for the agent and its person."""

    reason: DenialReason
    why: str


class Planner:
    """Make plans. ``search_path`` and ``base_env`` are fixed for the planner's life.

    ``base_env`` supplies home, locale, zone and TMPDIR; by default the gateway's environment.
    ``run_as`` names the Unix user that commands run as on the hosts ``bound``, ``""`` for this one.
    """

    def __init__(
        self,
        search_path: tuple[str, ...] = DEFAULT_SEARCH_PATH,
        base_env: Mapping[str, str] | None = None,
        run_as: RunAs | None = None,
        bound: Collection[ExecHost] = (ExecHost.GATEWAY,),
    ) -> None:
        self._search = SearchPath(search_path)
        self._source = os.environ if base_env is None else base_env
        self._run_as = run_as
        self._bound_hosts = frozenset(bound)
        self._tables = {"": Tables(self._search.text, self._source)}
        self._threads: ThreadPoolExecutor | None = None

    @property
    def search(self) -> SearchPath:
        """Return where programs are looked up."""
        return self._search

    def plan(
        self, request: ExecRequest, policy: ExecPolicy, *, listed: bool = False
    ) -> ExecPlan | Refusal:
        """Bind a request to what is there now; nothing runs, only files are read.

        The policy's timeout is the longest that a request may ask for. ``listed``: an access list
        decides on its words, so they stay as they are.
        """
        try:
            with hashing_at_most(_MOST_HASHED):
                return self._planned(request, policy, listed=listed)
        except HashingLimit:
            why = f"the files that it would run hold more than {_MOST_HASHED} bytes together"
            return Refusal(DenialReason.BAD_REQUEST, f"{why}; run them one by one")
        except OSError as error:
            return _not_seen(error)

    async def plan_without_blocking(
        self, request: ExecRequest, policy: ExecPolicy
    ) -> ExecPlan | Refusal:
        """Bind a request as ``plan`` does, in a thread where that would hold up the event loop."""
        if _length(request) <= _LITTLE_TEXT:
            try:
                with hashing_at_most(_LITTLE_HASHED):
                    return self._planned(request, policy)
            except HashingLimit:
                pass
            except OSError as error:
                return _not_seen(error)
        if self._threads is None:
            # Its own pool: what waits for a file elsewhere must not wait for plans.
            self._threads = ThreadPoolExecutor(_THREADS, "plan")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self.plan, request, policy)

    def _planned(
        self, request: ExecRequest, policy: ExecPolicy, *, listed: bool = False
    ) -> ExecPlan | Refusal:
        user = self._user(request, policy)
        cwd = self._unfit(request, policy, user) or _directory(request.cwd)
        if isinstance(cwd, Refusal):
            return cwd
        if request.part is not None and request.argv is not None:
            # No program of ours is started.
            terminal = request.part.opens_terminal
            argv = terminal_argv(request.argv, user) if terminal else request.argv
            alone = (PlannedCommand(argv, None),)
            return self._bound(request, policy, user, cwd, alone, (), None)
        home = self._tables[user].home
        line = self._expanded(request, cwd, home)
        if isinstance(line, Refusal):
            return line
        if isinstance(line, Unreadable):
            home = dict(request.env).get("HOME", home)
            shelled = (plan_shell(request.line or "", cwd.path, home, self._search),)
            return self._bound(request, policy, user, cwd, shelled, (), line)
        commands = self._commands(line if listed else self._moved_by_option(line), cwd)
        if isinstance(commands, Refusal):
            return commands
        if listed:
            commands = tuple(_obeying_no_folder(one, cwd.path) for one in commands)
        commands = with_effects(commands, cwd.path)
        return self._bound(request, policy, user, cwd, commands, line.connectors, None)

    def _user(self, request: ExecRequest, policy: ExecPolicy) -> str:
        """Return whom the request's commands run as; its tables exist if the user does."""
        if self._run_as is None or policy.host not in self._bound_hosts:
            return ""
        user = self._run_as(request)
        if user not in self._tables:
            account = account_of(user)
            if account is not None:
                self._tables[user] = Tables(self._search.text, self._source, account)
        return user

    def _unfit(self, request: ExecRequest, policy: ExecPolicy, user: str) -> Refusal | None:
        fault = request_fault(request, policy.host)
        if fault is not None:
            return Refusal(DenialReason.BAD_REQUEST, fault)
        return None if user in self._tables else _no_user(user)

    def _expanded(
        self, request: ExecRequest, cwd: PinnedDirectory, home: str
    ) -> ExpandedLine | Unreadable | Refusal:
        if request.argv is not None:
            return ExpandedLine((ExpandedCommand(request.argv, cwd.path),), ())
        reading = reader.read(request.line or "")
        if isinstance(reading, Unreadable):
            return reading
        if depends_on_surroundings(reading):
            fixed = _SURROUNDINGS.union(loop.variable for loop in reading.loops)
            changed = sorted(fixed.intersection(name for name, _ in request.env))
            if changed:
                return Unreadable("R12", f"an expansion that {changed[0]} of the request changes")
        line = expand(reading, cwd.path, home)
        if isinstance(line, NoFolder):
            why = f"the line begins with `cd` to `{line.path}`, which is not a folder"
            return Refusal(DenialReason.BAD_CWD, why)
        commands = len(line.commands) if isinstance(line, ExpandedLine) else 1
        fault = terminal_fault(request.stdio, commands)
        return line if fault is None else Refusal(DenialReason.BAD_REQUEST, fault)

    def _commands(
        self, line: ExpandedLine, cwd: PinnedDirectory
    ) -> tuple[PlannedCommand, ...] | Refusal:
        """Pin the folder of each command and what it starts there."""
        folders: dict[str, PinnedDirectory | None] = {cwd.path: None}
        commands: list[PlannedCommand] = []
        search = self._search
        for one in line.commands:
            if one.folder not in folders:
                pinned = _directory(one.folder)
                if isinstance(pinned, Refusal):
                    return pinned
                folders[one.folder] = pinned
            folder = folders[one.folder]
            command = plan_command(one.argv, (folder or cwd).path, search)
            search = search.after(command, (folder or cwd).path)
            if folder is not None or one.routing is not UNROUTED:
                command = replace(_moved(command, folder), routing=one.routing)
            if one.late:
                # The places are of this vector: a wrapper is not looked through, so it asks.
                command = replace(command, inner=(), bound=(), late=one.late)
            if commands and command.problem and "/" in command.argv[0]:
                command = replace(command, problem=f"{command.problem}; {_MADE_BEFORE}")
            commands.append(command)
        return with_fed(tuple(commands), line.connectors, cwd.path)

    def _moved_by_option(self, line: ExpandedLine) -> ExpandedLine:
        if all(OPTION not in one.argv for one in line.commands):
            return line
        return replace(line, commands=tuple(map(self._in_its_folder, line.commands)))

    def _in_its_folder(self, command: ExpandedCommand) -> ExpandedCommand:
        """Return ``git -C FOLDER`` that only reads as the same command after ``cd FOLDER``."""
        program = self._search.find(command.argv[0], command.folder)
        found = None if isinstance(program, Unpinned) else without_folder(command.argv, program)
        if found is None or command.late:
            return command
        folder = entered(command.folder, found.folder)
        return command if folder is None else replace(command, argv=found.argv, folder=folder)

    def _environment(
        self, request: ExecRequest, user: str, commands: tuple[PlannedCommand, ...]
    ) -> Pairs:
        """Return the environment of a request's children.

        S4's table has nothing that keeps a program from obeying the files around it.
        """
        changes = request.env
        if request.environ is Environ.REMOTE:
            changes = (*union(map(_quiet, commands)), *changes)
        return self._tables[user].environment(request.environ, changes)

    def _bound(
        self,
        request: ExecRequest,
        policy: ExecPolicy,
        user: str,
        cwd: PinnedDirectory,
        commands: tuple[PlannedCommand, ...],
        connectors: tuple[Connector, ...],
        unreadable: Unreadable | None,
    ) -> ExecPlan:
        terminal = request.part is not None and request.part.opens_terminal
        longest = LONGEST_RUN_MS if terminal else min(policy.timeout_ms, LONGEST_RUN_MS)
        asked = longest if request.timeout_ms is None else request.timeout_ms
        text = shlex.join(request.argv or ()) if request.line is None else request.line
        plan = ExecPlan(
            text=terminal_text(commands[0].argv, user, cwd.path) if terminal else text,
            commands=commands,
            connectors=connectors,
            unreadable=unreadable,
            cwd=cwd,
            env=self._environment(request, user, commands),
            requested_env=tuple(name for name, _ in request.env),
            host=policy.host,
            node=policy.node if policy.host is ExecHost.NODE else None,
            agent=request.agent,
            session=request.session,
            timeout_ms=min(asked, longest),
            digest="",
            stdio=request.stdio,
            cpu_s=request.cpu_s,
            task=request.task,
            run_as=user,
            part=request.part,
        )
        return bind(plan if request.part else with_further_code(plan, self._search))


def _length(request: ExecRequest) -> int:
    return len(request.line or "") + sum(map(len, request.argv or ()))


def _not_seen(error: OSError) -> Refusal:
    """Return the refusal for what could not be looked up: it must not count as absent."""
    why = f"what the command depends on cannot be checked ({error.strerror})"
    return Refusal(DenialReason.HOST_UNAVAILABLE, why)


def _no_user(user: str) -> Refusal:
    why = (
        f"it would run as `{user}`, and this machine has no such user; "
        f"create it: `sudo sayso executor user add {user}`"
    )
    return Refusal(DenialReason.HOST_UNAVAILABLE, why)


def _quiet(command: PlannedCommand) -> Pairs:
    """Return what keeps a command, and those inside it, from obeying the files around them."""
    pinned = ((one.argv, one.executable) for one in command.all_of_it)
    return union(everywhere_for(argv, file) for argv, file in pinned if file is not None)


def _obeying_no_folder(command: PlannedCommand, cwd: str) -> PlannedCommand:
    """Return ``git -C FOLDER`` that only reads with what a reading without ``-C`` gets."""
    program = command.executable
    found = None if program is None else without_folder(command.argv, program)
    if program is None or found is None:
        return command
    neutral = replace(command, neutral=neutral_environment(found.argv, program))
    return replace(neutral, steered=steering(neutral, cwd))


def _moved(command: PlannedCommand, folder: PinnedDirectory | None) -> PlannedCommand:
    """Return a command in another folder; what a wrapper starts, it starts in its own."""
    inner = tuple(_moved(one, folder) for one in command.inner)
    return replace(command, cwd=folder, inner=inner)


def _directory(path: str) -> PinnedDirectory | Refusal:
    if not os.path.isabs(path):
        return Refusal(DenialReason.BAD_CWD, f"the working directory `{path}` is not absolute")
    found = pin_directory(path)
    if isinstance(found, Unpinned):
        return Refusal(DenialReason.BAD_CWD, f"the working directory `{path}` {found.why}")
    return found
