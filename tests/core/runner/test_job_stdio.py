import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from core.errors import PlanDrift
from core.model.decision import DenialReason
from core.model.result import Stream, Streams
from core.model.stdio import LARGEST_STDIN, Capture, Stdio
from core.planning.request_checks import LARGEST_STREAM
from core.runner.runner import Runner
from tests.support.runs import Start, new_run, planned, refused, request, run, script

APART = Stdio(capture=Capture.SEPARATE)
MANY = os.urandom(LARGEST_STDIN)


async def test_a_command_reads_what_it_is_given(runner: Runner) -> None:
    """Standard input arrives byte for byte, and ends."""
    wish = request(argv=("/usr/bin/sha256sum",), stdio=Stdio(stdin=MANY))
    counted = await run(runner, request(argv=("wc", "-c"), stdio=Stdio(stdin=MANY)))

    assert counted.output.text == f"{LARGEST_STDIN}\n"
    assert (await run(runner, wish)).output.text == (await run(runner, wish)).output.text
    assert (await run(runner, request("cat", stdio=Stdio(stdin=b"")))).output.text == ""


async def test_the_line_reads_it_as_a_shell_would_have_it(runner: Runner) -> None:
    """Only the first of a pipeline reads it; the next pipeline continues where that stopped."""
    given = Stdio(stdin=b"one\ntwo\nthree\n")

    piped = await run(runner, request("head -n 1 | cat", stdio=given))
    after = await run(runner, request("head -n 1 ; cat", stdio=given))
    away = await run(runner, request("cat < /dev/null", stdio=given))

    assert piped.output.text == "one\n"
    assert after.output.text == "one\ntwo\nthree\n"
    assert away.output.text == ""


async def test_nobody_can_change_what_is_read(runner: Runner) -> None:
    """The input is sealed: a command that reopens it cannot write to it."""
    code = "open('/proc/self/fd/0', 'r+b', buffering=0).write(b'x')"
    wish = request(argv=(sys.executable, "-I", "-S", "-c", code), stdio=Stdio(stdin=b"abc"))

    done = await run(runner, wish)

    assert done.exit_code == 1
    assert "not permitted" in done.output.text


async def test_input_that_nobody_reads_harms_nothing(runner: Runner) -> None:
    """A command that never reads, or closes its input early, ends as it wants to."""
    for argv in (("true",), ("/bin/sh", "-c", "exec 0<&-; sleep 0.05; echo on")):
        done = await run(runner, request(argv=argv, stdio=Stdio(stdin=MANY)))
        assert (done.exit_code, done.signal) == (0, None)


async def test_input_is_part_of_what_was_approved(runner: Runner) -> None:
    """Another input is another plan."""
    plan = planned(request("cat", stdio=Stdio(stdin=b"shown")))
    other = replace(plan, stdio=Stdio(stdin=b"other"))

    with pytest.raises(PlanDrift, match="digest"):
        await runner.run(new_run(), other, Start())


@pytest.mark.parametrize(
    ("stdio", "word"),
    [
        (Stdio(stdin=MANY + b"x"), "standard input"),
        (Stdio(capture=Capture.SEPARATE, most_stdout=0), "at least 1"),
        (Stdio(capture=Capture.SEPARATE, most_stderr=LARGEST_STREAM + 1), "at most"),
    ],
)
def test_what_cannot_be_kept_is_refused(stdio: Stdio, word: str) -> None:
    """Input beyond the cap, and caps out of range, are refused before anything runs."""
    refusal = refused(request("true", stdio=stdio))

    assert refusal.reason is DenialReason.BAD_REQUEST
    assert word in refusal.why


async def test_streams_are_kept_apart(runner: Runner) -> None:
    """Each stream is what was printed on it; the session's text still has both."""
    text = "echo one; echo two >&2; printf '\\000\\377'; exit 3"

    done = await run(runner, request(argv=("/bin/sh", "-c", text), stdio=APART))

    assert done.streams == Streams(Stream(b"one\n\x00\xff", 6), Stream(b"two\n", 4))
    assert done.exit_code == 3
    assert sorted(done.output.text) == sorted("one\ntwo\n\0\ufffd")
    assert done.output.total_bytes == 10


async def test_combined_runs_have_no_streams(runner: Runner) -> None:
    """What is one stream cannot be separated afterwards."""
    assert (await run(runner, request("echo x"))).streams is None


@pytest.mark.parametrize(("cap", "kept"), [(1, b"0"), (5, b"01234"), (10, b"0123456789")])
async def test_a_stream_is_cut_at_its_cap(runner: Runner, cap: int, kept: bytes) -> None:
    """The first bytes are kept exactly, the rest is counted."""
    stdio = Stdio(capture=Capture.SEPARATE, most_stdout=cap, most_stderr=3)
    text = "printf 0123456789; printf abcdef >&2"

    done = await run(runner, request(argv=("/bin/sh", "-c", text), stdio=stdio))

    assert done.streams == Streams(Stream(kept, 10), Stream(b"abc", 6))
    assert done.streams.stdout.truncated == (cap < 10)
    assert done.output.total_bytes == 16


async def test_large_streams_arrive_whole(runner: Runner) -> None:
    """Sixteen mebibytes of each stream (S4's cap) return byte for byte, beyond any frame."""
    size = 16 << 20
    stdio = Stdio(capture=Capture.SEPARATE, most_stdout=size, most_stderr=size)
    code = (
        "import os\n"
        "block = bytes(range(256)) * 256\n"
        "for n in range(257):\n"
        "    os.write(1, block); os.write(2, block[::-1])"
    )

    done = await run(runner, request(argv=(sys.executable, "-I", "-S", "-c", code), stdio=stdio))

    assert done.streams is not None
    assert done.streams.stdout.data == bytes(range(256)) * (size // 256)
    assert done.streams.stderr.data == bytes(range(255, -1, -1)) * (size // 256)
    assert done.streams.stdout.total_bytes == done.streams.stderr.total_bytes == 257 << 16
    assert done.output.total_bytes == 2 * (257 << 16)


async def test_redirections_hold_for_separate_streams(runner: Runner) -> None:
    """`2>&1` joins the command's own output, `2>/dev/null` goes nowhere."""
    stdio = APART
    missing = "/nowhere/at/all"

    joined = await run(runner, request(f"ls {missing} 2>&1 | wc -l", stdio=stdio))
    gone = await run(runner, request(f"ls {missing} 2>/dev/null", stdio=stdio))
    plain = await run(runner, request(f"ls {missing} | wc -l", stdio=stdio))

    assert joined.streams == Streams(Stream(b"1\n", 2), Stream(b"", 0))
    assert gone.streams == Streams()
    assert plain.streams is not None
    assert plain.streams.stdout == Stream(b"0\n", 2)
    assert missing.encode() in plain.streams.stderr.data


async def test_what_sayso_adds_is_no_output_of_the_command(runner: Runner, tmp_path: Path) -> None:
    """A part that could not start is reported on standard error."""
    script(tmp_path / "nonsense", "no first line\n")

    done = await run(runner, request("echo a ; ./nonsense", cwd=tmp_path, stdio=APART))

    assert done.streams is not None
    assert done.streams.stdout == Stream(b"a\n", 2)
    assert done.streams.stderr.data.startswith(b"sayso: `./nonsense` cannot be started")


async def test_streams_do_not_leak_into_the_next_run(runner: Runner) -> None:
    """A supervisor that kept streams apart keeps serving, without a descriptor for it."""

    def opened() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    wish = request(argv=("/bin/sh", "-c", "echo $PPID; ls /proc/$PPID/fd | wc -l"), stdio=APART)
    first = [await run(runner, wish) for _ in range(8)]
    before = opened()
    again = [await run(runner, wish) for _ in range(8)]

    assert opened() == before
    assert len({one.output.text.split()[0] for one in (*first, *again)}) <= 3
    assert len({one.output.text.split()[1] for one in (*first, *again)}) == 1
    assert (await run(runner, request("echo x"))).streams is None
