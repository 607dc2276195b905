"""Run a job in a process of its own, end all that it left behind, report; then take another.

A supervisor serves again only while nothing is left of the job before: no child, no output, no
cancellation, little CPU time. Starting a fresh one costs five times what a job costs it.

Stdlib leaf modules only: it is forked from the lean launcher, never from the gateway. The end of
its socket means that the gateway died, and then everything here dies at once.
"""

import json
import os
import select
import signal
import socket
import time

from core.runner import confine, frames, pipeline, procfs, reaper, stages
from core.runner.drain import Drain
from core.runner.leases import Leases

NOT_STARTED = 126
"""The status that a shell gives a command that could not be started."""

_TURN_S = 0.05

MOST_JOBS = 200
_WORN_S = 5.0
"""CPU seconds after which a supervisor retires: its commands' CPU limit counts for it, too."""


class Supervisor:
    """One run at a time. Built before there is a job, so that the job does not wait for it."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._drain = Drain()
        self._leases = Leases()
        self._statuses: dict[int, int] = {}
        self._children_left = False
        self._cancelled = False
        self._timed_out = False
        self._began = self._deadline = 0.0
        self._poll = select.poll()
        self._own = procfs.process(os.getpid())
        self._wake = confine.wake_on_child()
        self._null = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        for fd in (self._drain.outlet, self._wake):
            self._poll.register(fd, select.POLLIN)
        self._rehearse()
        self._poll.register(sock, select.POLLIN)  # only now: a job may be in it already

    def _rehearse(self) -> None:
        """Go through a run that starts nothing.

        A forked process copies each page that it first writes to: half a millisecond in all, spent
        here while nobody waits.
        """
        job: frames.Job = json.loads(frames.encode(frames.VOID)[frames.HEADER.size :])
        confine.restrict(job["limits"])
        streams = stages.Streams(self._null, self._drain.inlet)
        started = stages.start_pipeline(job["stages"], [], job["env"], streams, self._leases)
        self._turn(time.monotonic())
        self._reap()
        report = self._ended(started[-1])
        frames.encode(report)

    def serve(self) -> None:
        """Serve job after job; return when worn, or when the gateway goes away."""
        for _ in range(MOST_JOBS):
            received = frames.receive_job(self._sock)
            if received is None:
                return
            job, fds = received
            fit = self._serve(job, fds)
            for fd in fds:
                os.close(fd)
            if not fit:
                return
            self._renew()

    def _serve(self, job: frames.Job, fds: list[int]) -> bool:
        """Run one job and report; ``True`` if another may follow."""
        self._began = time.monotonic()
        self._deadline = self._began + job["timeout_ms"] / 1000
        try:
            confine.restrict(job["limits"])
            os.fchdir(fds[0])
        except (OSError, ValueError) as error:
            self._send({"failed": {"drift": False, "why": f"its limits or directory: {error}"}})
            return False
        last = self._walk(job, fds)
        self._leases.give_back(at_once=True)
        if last is None:
            return False
        self._end(job["grace_ms"] / 1000)
        fit = self._is_fit()
        if fit:
            self._drain.rest()
        else:
            self._drain.finish()
        report = self._ended(last)
        report["ended"]["fit"] = fit
        self._send(report)
        return fit

    def _is_fit(self) -> bool:
        """Tell whether nothing of this job could touch the next one."""
        disturbed = self._cancelled or self._timed_out or self._children_left
        return not disturbed and self._drain.calm and time.process_time() < _WORN_S

    def _renew(self) -> None:
        self._statuses.clear()
        self._drain.renew()
        os.chdir("/")

    def _ended(self, last: int | stages.Refused) -> frames.Report:
        code, number = self._outcome(last)
        output = self._drain.output
        text, truncated = output.text()
        return {
            "ended": {
                "exit_code": code,
                "signal": number,
                "timed_out": self._timed_out,
                "text": text,
                "tail": output.tail() if truncated else None,
                "truncated": truncated,
                "total_bytes": output.total_bytes,
                "duration_ms": round((time.monotonic() - self._began) * 1000),
                "fit": False,
            }
        }

    def _walk(self, job: frames.Job, fds: list[int]) -> int | stages.Refused | None:
        """Run pipeline after pipeline; return what the last one ended in, ``None`` if none ran."""
        status = 0
        last: int | stages.Refused | None = None
        streams = stages.Streams(self._null, self._drain.inlet)
        for connector, group in pipeline.pipelines(job["connectors"], len(job["stages"])):
            if not pipeline.wanted(connector, status):
                continue
            members = [job["stages"][index] for index in group]
            started = stages.start_pipeline(members, fds, job["env"], streams, self._leases)
            if not self._announce(started, first=last is None):
                return None
            last = started[-1]
            if any(isinstance(one, stages.Refused) and one.drift for one in started):
                break
            if not self._await_all([one for one in started if isinstance(one, int)]):
                break
            status = self._shell_status(last)
        return last

    def _announce(self, started: list[int | stages.Refused], *, first: bool) -> bool:
        """Tell the gateway that the run began, or why it did not (then return ``False``)."""
        head = started[0]
        if first and isinstance(head, stages.Refused):
            self._send({"failed": {"drift": head.drift, "why": head.why}})
            return False
        if first and self._own is not None:
            own = self._own
            leader: frames.Started = {
                "pid": own.pid,
                "pgid": own.pgid,
                "start_ticks": own.start_ticks,
            }
            self._send({"started": leader})
        for one in started:
            if isinstance(one, stages.Refused):
                self._drain.output.add(memoryview(f"sayso: {one.why}\n".encode()))
        return True

    def _await_all(self, pids: list[int]) -> bool:
        """Wait until all have ended; ``False`` when the run was cancelled or its time is up."""
        while any(pid not in self._statuses for pid in pids):
            self._timed_out = not self._cancelled and time.monotonic() >= self._deadline
            if self._cancelled or self._timed_out:
                return False
            self._turn(self._leases.until(self._deadline))
            self._leases.give_back()
        return True

    def _end(self, grace_s: float) -> None:
        """End what is still there: TERM, grace, KILL, walk. Usually nothing is."""
        self._reap()
        deadline = time.monotonic() + grace_s
        told: set[int] = set()
        while self._children_left and time.monotonic() < deadline:
            reaper.signal_children(signal.SIGTERM, set(), told)
            # Not every newly adopted orphan is announced by a signal, hence the short turns.
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
        if self._drain.outlet in ready:
            self._drain.take()
        if self._sock.fileno() in ready:
            self._hear()

    def _reap(self) -> None:
        ended, self._children_left = reaper.reap()
        self._statuses.update(ended)

    def _hear(self) -> None:
        """Take a word; at the end of the stream nobody is left to run this for."""
        try:
            heard = self._sock.recv(1)
        except OSError:
            heard = b""
        if not heard:
            reaper.kill_all(set())
            os._exit(1)
        if heard == frames.TAIL:
            output = self._drain.output
            self._send({"tail": {"text": output.tail(), "total_bytes": output.total_bytes}})
        else:
            self._cancelled = True

    def _outcome(self, last: int | stages.Refused) -> tuple[int | None, int | None]:
        """Return the exit code or the signal of the last command; neither if it outlived KILL."""
        if isinstance(last, stages.Refused):
            return NOT_STARTED, None
        if last not in self._statuses:
            return None, None
        code = os.waitstatus_to_exitcode(self._statuses[last])
        return (code, None) if code >= 0 else (None, -code)

    def _shell_status(self, last: int | stages.Refused) -> int:
        code, number = self._outcome(last)
        return code if code is not None else 128 + (number or 0)

    def _send(self, report: frames.Report) -> None:
        try:
            self._sock.sendall(frames.encode(report))
        except OSError:  # the gateway died: nobody is left to run this for
            reaper.kill_all(set())
            os._exit(1)
