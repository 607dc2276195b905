"""Run a job in a separate process, end all that it left behind, report; then take another.

A supervisor serves again only if nothing is left of the previous job: no child, no output, no
cancellation, little CPU time. Starting a fresh one costs five times what a job costs it.

It is forked from the lean launcher, never from the gateway. The end of its socket means that the
gateway died, and then everything here dies at once.
"""

import contextlib
import json
import os
import select
import signal
import socket
import time
from collections.abc import Callable

from core.files.file_identity import FileIdentity
from core.runner.supervisor import connectors, process_setup, protocol, report, spawn
from core.runner.supervisor.control_channel import Post
from core.runner.supervisor.output.drain import Drain
from core.runner.supervisor.output.shared_buffer import Shelf
from core.runner.supervisor.pinned_files.delivery import Delivery
from core.runner.supervisor.pinned_files.file_leases import Leases
from core.runner.supervisor.processes import procfs, reaper
from core.runner.supervisor.processes.disk_use import DiskUse
from core.runner.supervisor.processes.fork_bomb import ProcessLimit

_PROCESS_LIMIT = "sayso: too many processes at once, so the run was killed\n"

_HALTED = "the gateway ended the run"

_TURN_S = 0.05

MOST_JOBS = 200
_WORN_S = 5.0
"""CPU seconds after which a supervisor retires: its commands' CPU limit applies to it, too."""


class Supervisor:
    """One run at a time. Built before there is a job, so that the job does not wait for it."""

    def __init__(self, sock: socket.socket) -> None:
        self._post = Post(sock)
        self._poll = select.poll()
        self._drain = Drain(self._poll)
        self._leases = Leases()
        self._delivery = Delivery(self._poll, self._leases, self._note)
        self._process_limit = ProcessLimit()
        self._disk_use = DiskUse()
        self._statuses: dict[int, int] = {}
        self._children_left = False
        self._cancelled = False
        self._timed_out = False
        self._asking = False
        self._left: list[str] = []
        self._drift: protocol.Drift | None = None
        self._renewed: dict[str, FileIdentity] = {}
        self._began = self._deadline = 0.0
        self._fds: list[int] = []
        self._own = procfs.process(os.getpid())
        self._wake = process_setup.wake_on_child()
        self._null = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        self._poll.register(self._wake, select.POLLIN)
        self._rehearse()
        self._process_limit.settle()
        self._poll.register(self._post.fd, select.POLLIN)  # only now: a job may be in it already

    def _rehearse(self) -> None:
        """Go through a run that starts nothing.

        A forked process copies each page that it first writes to: half a millisecond in all, spent
        here while no run waits.
        """
        job: protocol.Job = json.loads(protocol.encode(protocol.VOID)[protocol.HEADER.size :])
        process_setup.restrict(job["limits"])
        streams = self._streams(job)
        started = spawn.start_pipeline(job["stages"], [], job["env"], streams, self._delivery)
        self._turn(time.monotonic())
        self._reap()
        protocol.encode(self._ended(started[-1]))

    def serve(self) -> None:
        """Serve job after job; return when worn, or when the gateway goes away."""
        for _ in range(MOST_JOBS):
            received = self._post.job()
            if received is None:
                return
            job, self._fds = received
            if not self._serve(job):
                return
            self._renew()

    def _serve(self, job: protocol.Job) -> bool:
        """Run one job and report; ``True`` if another may follow."""
        self._began = time.monotonic()
        self._deadline = self._began + job["timeout_ms"] / 1000
        self._process_limit.begin(job["processes"], self._began)
        self._disk_use.begin(job["private"], self._began)
        try:
            self._prepare(job)
        except (OSError, ValueError) as error:
            self._post.send(
                {"failed": {"drift": False, "why": f"its limits, folder or streams: {error}"}}
            )
            return False
        last = self._walk(job)
        self._leases.give_back(at_once=True)
        if last is None:
            return False
        self._end(job["grace_ms"] / 1000)
        fit = self._is_fit()
        if fit:
            self._drain.rest()
        else:
            self._drain.finish()
        if isinstance(last, spawn.NotStarted) and last.why == _HALTED and self._drift is not None:
            self._drain.note(f"sayso: {self._drift['why']}\n")  # after all that was printed
        report = self._ended(last)
        report["ended"]["fit"] = fit
        self._post.send(report)
        return fit

    def _prepare(self, job: protocol.Job) -> None:
        """Set up what the job's commands will inherit, and open what they print into."""
        process_setup.restrict(job["limits"])
        os.fchdir(self._fds[0])
        self._drain.pace(job["limits"]["cpu"][1])
        self._delivery.pace(job["limits"]["cpu"][1])
        lent = [self._fds[one] for one in job["shelves"]]
        self._drain.keep([Shelf(*pair) for pair in zip(lent[::2], lent[1::2], strict=True)])
        if job["terminal"]:
            self._drain.open_terminal(self._source(job))

    def _streams(self, job: protocol.Job) -> spawn.Streams:
        drain = self._drain
        path = "" if drain.terminal is None else drain.terminal.path
        return spawn.Streams(self._source(job), drain.inlet, drain.error_inlet, path)

    def _source(self, job: protocol.Job) -> int:
        return self._fds[job["stdin"]] if job["stdin"] else self._null

    def _note(self, text: str) -> None:
        self._drain.note(text)

    def _is_fit(self) -> bool:
        """Return whether nothing of this job could touch the next one."""
        # An answer that is still on its way would be read as the start of the next job.
        disturbed = self._cancelled or self._timed_out or self._children_left or self._asking
        return not disturbed and self._drain.calm and time.process_time() < _WORN_S

    def _renew(self) -> None:
        for fd in self._fds:
            os.close(fd)
        self._fds = []
        self._drift = None
        self._statuses.clear()
        self._delivery.end()
        self._drain.renew()
        self._process_limit.settle()
        os.chdir("/")

    def _ended(self, last: int | spawn.NotStarted) -> protocol.Report:
        how = report.outcome(last, self._statuses)
        if self._is_cut(how):
            how = None, signal.SIGTERM.value
        seconds = time.monotonic() - self._began
        drain = self._drain
        return report.ended(
            how,
            drain.output,
            drain.totals,
            timed_out=self._timed_out,
            seconds=seconds,
            drift=self._drift,
        )

    def _is_cut(self, how: report.Outcome) -> bool:
        """Return whether a line was ended before a pipeline that would have followed.

        It did not end as the one before did: that one's code, 0 perhaps, is not the line's.
        """
        code, _ = how
        if code is None or self._drift is not None:
            return False
        return any(connectors.wanted(connector, code) for connector in self._left)

    def _walk(self, job: protocol.Job) -> int | spawn.NotStarted | None:
        """Run pipeline after pipeline; return what the last one ended in, ``None`` if none ran."""
        status = 0
        last: int | spawn.NotStarted | None = None
        streams = self._streams(job)
        lines = connectors.pipelines(job["connectors"], len(job["stages"]))
        for place, (connector, group) in enumerate(lines):
            self._left = [one for one, _ in lines[place:]]
            if not connectors.wanted(connector, status):
                continue
            if last is not None:
                if not self._may_go_on(group):
                    return last if self._drift is None else spawn.NotStarted(_HALTED, drift=True)
                spawn.renew(job["stages"], self._renewed)
            members = [connectors.with_status(job["stages"][index], status) for index in group]
            started = spawn.start_pipeline(members, self._fds, job["env"], streams, self._delivery)
            if not self._announce(started, first=last is None):
                return None
            last = started[-1]
            self._left.pop(0)
            if self._has_drifted(group, started):
                break
            if not self._await_all([one for one in started if isinstance(one, int)]):
                break
            status = report.shell_status(report.outcome(last, self._statuses))
        else:
            self._left = []
        return last

    def _may_go_on(self, group: range) -> bool:
        """Have the gateway check again what a further pipeline depends on.

        ``False``: the run was, or must be, ended; ``_drift`` is set if something had changed.
        """
        self._asking = True
        self._post.send({"next": {"first": group.start, "end": group.stop}})
        if not self._await(lambda: not self._asking):
            return False
        if self._drift is not None:
            self._drift["place"] = group.start
        return self._drift is None

    def _has_drifted(self, group: range, started: list[int | spawn.NotStarted]) -> bool:
        """Note the first command of a pipeline whose own files had changed, if there is one."""
        for place, one in zip(group, started, strict=False):  # none follow a refused first one
            if isinstance(one, spawn.NotStarted) and one.drift:
                self._drift = {"place": place, "why": one.why}
                return True
        return False

    def _announce(self, started: list[int | spawn.NotStarted], *, first: bool) -> bool:
        """Report that the run began, or why it did not (then return ``False``)."""
        head = started[0]
        if first and isinstance(head, spawn.NotStarted):
            self._post.send({"failed": {"drift": head.drift, "why": head.why}})
            return False
        if first and self._own is not None:
            own = self._own
            leader: protocol.Started = {
                "pid": own.pid,
                "pgid": own.pgid,
                "start_ticks": own.start_ticks,
            }
            self._post.send({"started": leader})
        for one in started:
            if isinstance(one, spawn.NotStarted):
                self._drain.note(f"sayso: {one.why}\n")
        return True

    def _await_all(self, pids: list[int]) -> bool:
        """Wait until all have ended; ``False`` when the run was, or must be, ended instead."""
        return self._await(lambda: all(pid in self._statuses for pid in pids))

    def _await(self, condition: Callable[[], bool]) -> bool:
        """Serve until a condition holds; ``False`` when the run was, or must be, ended instead."""
        while not condition():
            self._timed_out = not self._cancelled and time.monotonic() >= self._deadline
            if self._cancelled or self._timed_out:
                return False
            self._turn(self._leases.until(self._look_until(self._deadline)))
            self._leases.give_back()
            if excess := self._excess():
                self._drain.note(excess)
                self._statuses.update(reaper.kill_all(set()))
                return False
        return True

    def _look_until(self, deadline: float) -> float:
        return self._disk_use.until(self._process_limit.until(deadline))

    def _excess(self) -> str:
        """Return why the run has to end: more processes, or more of the disk, than it may have."""
        if self._process_limit.is_there(time.monotonic()):
            return _PROCESS_LIMIT
        return self._disk_use.excess()

    def _end(self, grace_s: float) -> None:
        """End what is still running: TERM, grace, KILL, walk. Usually nothing is."""
        self._reap()
        deadline = time.monotonic() + grace_s
        signalled: set[int] = set()
        while self._children_left and time.monotonic() < deadline and not self._excess():
            reaper.signal_children(signal.SIGTERM, set(), signalled)
            # Not every newly adopted orphan is announced by a signal, so the turns are short.
            self._turn(min(deadline, time.monotonic() + _TURN_S))
        if self._children_left:
            self._statuses.update(reaper.kill_all(set()))

    def _turn(self, until: float) -> None:
        """Handle what happens next, or return when ``until`` (monotonic seconds) is reached."""
        wait_ms = max(0.0, until - time.monotonic()) * 1000 + 1
        ready = {fd for fd, _ in self._poll.poll(wait_ms)}
        if self._wake in ready:
            os.read(self._wake, 4096)
            self._reap()
        self._drain.take_ready(ready)
        self._delivery.serve(ready)
        if self._post.fd in ready:
            self._hear()

    def _reap(self) -> None:
        ended, self._children_left = reaper.reap()
        self._statuses.update(ended)

    def _hear(self) -> None:
        """Handle a message from the gateway."""
        word, fds = self._post.word()
        self._fds += fds
        output = self._drain.output
        if word == protocol.TAIL:
            self._post.send({"tail": {"text": output.tail(), "total_bytes": output.total_bytes}})
        elif word == protocol.CANCEL:
            self._cancelled = True
        elif word in {protocol.GO, protocol.HALT}:
            self._take_answer(word)
        elif len(fds) == protocol.SHELF_FDS:  # else there was no room for them: nothing is shown
            with contextlib.suppress(OSError):
                output.show(Shelf(*fds))

    def _take_answer(self, word: bytes) -> None:
        """Handle the gateway's answer about the pipeline that waits."""
        self._asking = False
        if word == protocol.HALT:
            self._drift = {"place": 0, "why": self._post.text()}
        else:
            self._renewed = self._post.renewed()
