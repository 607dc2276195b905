"""Notice what was odd about a run that ended: thresholds passed, an end that was not its own."""

from core.model.result import Finished, Streams
from core.remote.acl.acl import ExecTable
from core.remote.denials import Notice


def notices_of(finished: Finished, streams: Streams, table: ExecTable) -> list[Notice]:
    """Return what passed a threshold, and how it ended if not by itself."""
    found = {
        Notice.STDOUT_LARGE: streams.stdout.total_bytes > table.warn_stdout_bytes,
        Notice.STDERR_LARGE: streams.stderr.total_bytes > table.warn_stderr_bytes,
        Notice.DURATION_LONG: finished.duration_ms > table.warn_duration_secs * 1000,
        Notice.TIMED_OUT: finished.timed_out,
        Notice.END_UNSEEN: finished.exit_code is None and finished.signal is None,
    }
    return [notice for notice, true in found.items() if true]
