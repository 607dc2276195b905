"""Make a tool's result from the end of a run: text, whether it is complete, its duration (S3 §2).

Output goes back to the agent that ran the command, unchanged: it is the agent's own.
"""

import codecs

from core.model.result import Finished, Stream, Streams
from core.model.stdio import Stdio


def result_of(ended: Finished, stdio: Stdio) -> dict[str, object]:
    """Return the seven fields. ``exit_code`` is minus the signal where one ended the command."""
    streams = ended.streams or _merged(ended)
    out, out_cut = _text(streams.stdout, stdio.most_stdout)
    err, err_cut = _text(streams.stderr, stdio.most_stderr)
    return {
        "exit_code": ended.exit_code if ended.exit_code is not None else -(ended.signal or 0),
        "stdout": out,
        "stderr": err,
        "stdout_truncated": out_cut,
        "stderr_truncated": err_cut,
        "duration_s": ended.duration_ms / 1_000,
        "timed_out": ended.timed_out,
    }


def _merged(ended: Finished) -> Streams:
    """Return what the store kept of a run that ended on another gateway: both streams in one.

    Both then count as cut, because neither is known to be complete.
    """
    kept = ended.output.text.encode(errors="replace")
    return Streams(Stream(kept, len(kept) + 1), Stream(b"", 1))


def _text(stream: Stream, most: int) -> tuple[str, bool]:
    """Decode UTF-8 into at most ``most`` bytes of text, and say whether anything is missing.

    A character that the cap cut in two is left out. What is not UTF-8 becomes U+FFFD, which has
    three bytes, so a binary may have to be cut again.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text = decoder.decode(stream.data[:most], final=not stream.truncated)
    whole = text.encode()
    if len(whole) <= most:
        return text, stream.truncated
    return whole[:most].decode(errors="ignore"), True
