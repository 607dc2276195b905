"""Test S4's page, statement by statement, against a host with real processes and a real socket."""

import asyncio
import base64
import resource
import ssl
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from core.audit.verify import verify
from core.errors import LockedDown
from core.model.command import ExecPlan
from core.remote.acl.acl import Acl
from core.remote.client.call import Call
from core.remote.denials import Notice, RemoteDenial
from core.remote.trust.envelope import Kind, Order
from core.remote.trust.replay_window import wall_clock_ms
from core.remote.wire.frames import PREFIX, Accepted, End, Piece, Renewed, encode
from core.runner.limits import Limits
from core.trust.ids import new_id
from tests.support.git_repositories import git, repository
from tests.support.remote_machines import LISTED, Machines, two_machines
from tests.support.runs import alive, marked
from tests.support.waiting import until

D = RemoteDenial
QUICK = Limits(grace_ms=300)
BOMB = 1 << 30


async def started(host: Machines, count: int = 1) -> None:
    """Wait until this many runs have a process."""
    await until(lambda: [one["kind"] for one in host.entries()].count("spawned") >= count)


def pid_of(host: Machines) -> int:
    """Return the process that leads the last recorded run."""
    return int([one for one in host.entries() if one["kind"] == "spawned"][-1]["pid"])


def script(folder: Path, text: str) -> tuple[str, ...]:
    """Return a vector that runs a Python script."""
    path = folder / "script.py"
    path.write_text(text)
    return (sys.executable, str(path))


async def test_a_listed_command_runs_and_its_streams_are_kept_apart(tmp_path: Path) -> None:
    """S4 "CLI": run an allowlisted command; code, both streams and both totals are returned."""
    both = script(tmp_path, "import sys; print('out'); print('err', file=sys.stderr); sys.exit(7)")
    async with two_machines(tmp_path, vectors=[both]) as host:
        done = await host.run(*both)

    assert (done.code, done.signal, done.stdout, done.stderr) == (7, None, b"out\n", b"err\n")
    assert (done.stdout_bytes_total, done.stderr_bytes_total) == (4, 4)
    assert (done.truncated, done.denial_reason, done.warnings) == (False, None, ())
    assert not done.ok


async def test_no_pty_and_no_interactive_shell(tmp_path: Path) -> None:
    """None of the three streams is a terminal, and the process has no controlling one."""
    look = "import os; print([os.isatty(n) for n in (0, 1, 2)]); os.open('/dev/tty', 0)"
    vector = script(tmp_path, look)
    async with two_machines(tmp_path, vectors=[vector]) as host:
        done = await host.run(*vector)

    assert done.stdout == b"[False, False, False]\n"
    assert b"No such device" in done.stderr


async def test_commands_are_still_spawned_without_a_shell(tmp_path: Path) -> None:
    """What a shell would expand or split arrives as it was listed."""
    words = ("echo", "*", "~", "a  b", "{1,2}", "#x", "%s", "'q'")
    async with two_machines(tmp_path, vectors=[words], default_cwd=str(tmp_path)) as host:
        done = await host.run(*words)

    assert done.stdout == b"* ~ a  b {1,2} #x %s 'q'\n"


async def test_a_shell_under_another_name_is_refused(tmp_path: Path) -> None:
    """A link to a shell is a shell: nothing starts, though the list has the vector."""
    link = tmp_path / "tool"
    link.symlink_to("/bin/sh")
    async with two_machines(tmp_path, vectors=[(str(link), "-c", "id")]) as host:
        done = await host.run(str(link), "-c", "id")

    assert done.denial_reason is D.ARGV_NOT_ALLOWED
    assert host.kinds() == ["requested", "denied"]


async def test_frames_are_carried_signed_and_encrypted_only(tmp_path: Path) -> None:
    """TLS 1.3 or nothing: a plaintext client gets no answer, and nothing is run."""
    async with two_machines(tmp_path) as host:
        link = await host.link()
        tls = link.writer.get_extra_info("ssl_object")
        assert isinstance(tls, ssl.SSLObject)
        assert tls.version() == "TLSv1.3"
        await link.close()
        place = host.contact.place
        reader, writer = await asyncio.open_connection(place.host, place.port)
        writer.write(encode(host.sealed("echo", "hello")))
        heard = await reader.read()
        writer.close()
        assert PREFIX not in heard
    assert host.kinds() == []


async def test_the_client_never_falls_back_to_an_unencrypted_path(tmp_path: Path) -> None:
    """A server without TLS learns neither the vector nor the requester."""
    heard = bytearray()

    async def record(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.extend(await reader.read(100_000))
        writer.close()

    async with two_machines(tmp_path) as host:
        server = await asyncio.start_server(record, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        file = host.client.contacts
        contacts = file.read().contacts
        file.write(
            file.read().model_copy(
                update={
                    "contacts": (contacts[0].model_copy(update={"address": f"127.0.0.1:{port}"}),)
                }
            )
        )
        done = await host.run("echo", "hello")
        server.close()

    assert done.denial_reason is D.UNREACHABLE
    assert heard
    for secret in (b"echo", host.identity.agent_id.encode(), PREFIX):
        assert secret not in heard


async def test_the_client_speaks_to_the_pinned_host_only(tmp_path: Path) -> None:
    """Another certificate at the address: nothing is sent, so nothing ran."""
    async with two_machines(tmp_path / "a") as host, two_machines(tmp_path / "b") as impostor:
        file = host.client.contacts
        moved = (
            file.read()
            .contacts[0]
            .model_copy(update={"address": str(impostor.listener.addresses[0])})
        )
        file.write(file.read().model_copy(update={"contacts": (moved,)}))
        done = await host.run("echo", "hello")
        assert impostor.kinds() == []

    assert done.denial_reason is D.FINGERPRINT_MISMATCH


async def test_a_unix_socket_carries_the_same_frames(tmp_path: Path) -> None:
    """The second carrier behind the one port; only its owner can reach it."""
    async with two_machines(tmp_path, unix=True) as host:
        done = await host.run("echo", "hello")
        assert (tmp_path / "x.sock").stat().st_mode & 0o777 == 0o600

    assert done.stdout == b"hello\n"
    assert not (tmp_path / "x.sock").exists()


async def test_denials_are_a_normal_terminal_result_with_denial_reason(tmp_path: Path) -> None:
    """S4's own example: a vector that is not listed."""
    async with two_machines(tmp_path) as host:
        done = await host.run("echo", "bye")

    assert done.denial_reason is not None
    assert done.denial_reason.value == "argv_not_allowed"
    assert (done.ok, done.code, done.signal, done.stdout) == (False, None, None, b"")
    assert host.kinds() == ["requested", "denied"]


@pytest.mark.parametrize(
    ("argv", "order", "denial"),
    [
        (("echo", "hello", "x"), {}, D.ARGV_NOT_ALLOWED),
        (("sleep", "\uff15"), {}, D.ARGV_NOT_ALLOWED),
        (("sleep", "05"), {}, D.ARGV_NOT_ALLOWED),
        (("sleep", "1;"), {}, D.SHELL_METACHARACTER),
        (("cat",), {"cwd": "/tmp"}, D.CWD_NOT_ALLOWED),
        (("cat",), {"stdin_b64": base64.b64encode(bytes(11)).decode()}, D.STDIN_TOO_LARGE),
        (("cat",), {"timeout_ms": 5_001}, D.TIMEOUT_TOO_LONG),
        (("not-a-program-anywhere",), {}, D.EXECUTABLE_NOT_FOUND),
    ],
)
async def test_what_a_condition_refuses_never_starts(
    tmp_path: Path, argv: tuple[str, ...], order: dict[str, Any], denial: RemoteDenial
) -> None:
    """The log has the request and the denial, no start; the refusal is the log's reason too."""
    async with two_machines(tmp_path, max_stdin_bytes=10, max_duration_secs=5) as host:
        done = await host.run(*argv, **order)

    assert done.denial_reason is denial
    assert [(one["kind"], one.get("reason")) for one in host.entries()] == [
        ("requested", None),
        ("denied", denial.value),
    ]


async def test_a_stranger_learns_nothing_of_the_list(tmp_path: Path) -> None:
    """Listed vector or not, pair listed or not: an untrusted caller gets the same answer."""
    async with two_machines(tmp_path, trusted=False) as host:
        answers = [
            await host.say(host.sealed("echo", "hello")),
            await host.say(host.sealed("rm", "-rf")),
            await host.say(host.sealed("a;b", cwd="/", timeout_ms=10**9)),
        ]
    assert {one.denial_reason for one in answers if isinstance(one, End)} == {D.UNTRUSTED}
    assert host.kinds() == ["denied"] * 3
    assert not any("argv" in one for one in host.entries())


async def test_timeout_is_the_requests_and_the_acl_caps_still_apply(tmp_path: Path) -> None:
    """A short one ends the run; without one, the cap does."""
    async with two_machines(tmp_path, limits=QUICK, max_duration_secs=1) as host:
        for _ in range(3):  # the machine may be paused; another limit would show each time
            asked = await host.run("sleep", "60", timeout_ms=200)
            if asked.duration_ms < 900:
                break
        capped = await host.run("sleep", "60")

    for done in (asked, capped):
        assert (done.code, done.signal, done.denial_reason) == (None, 15, None)
        assert Notice.TIMED_OUT in done.warnings
    assert asked.duration_ms < 900 < capped.duration_ms < 10_000


async def test_stdin_is_sent_byte_for_byte(tmp_path: Path) -> None:
    """A mebibyte, the cap, of every possible byte; one byte more is refused."""
    data = bytes(range(256)) * 4096
    async with two_machines(tmp_path) as host:
        done = await host.run("cat", stdin_b64=base64.b64encode(data).decode())
        more = await host.run("cat", stdin_b64=base64.b64encode(data + b"x").decode())

    assert done.stdout == data
    assert more.denial_reason is D.STDIN_TOO_LARGE


async def test_environment_is_scrubbed_to_path_home_and_locale(tmp_path: Path) -> None:
    """S4's four and nothing of the host's; ``SAYSO_RUN`` is the mark that recovery finds."""
    async with two_machines(tmp_path) as host:
        done = await host.run("env")

    found = dict(line.split("=", 1) for line in done.stdout.decode().splitlines())
    assert found.keys() - {"SAYSO_RUN"} == {"PATH", "HOME", "LANG", "LC_ALL"}
    assert found["LANG"] == found["LC_ALL"] == "C.UTF-8"


async def test_git_obeys_no_program_that_the_repository_names(tmp_path: Path) -> None:
    """A listed reading starts no ``core.fsmonitor``, which whoever writes to the folder chooses."""
    there = tmp_path / "there"
    repository(there)
    hook = tmp_path / "hook"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    git(there, "config", "core.fsmonitor", str(hook))
    listed = ("git", "-C", str(there), "status", "--short")
    async with two_machines(tmp_path, vectors=[listed, ("env", *listed)]) as host:
        assert (await host.run(*listed)).code == 0
        assert (await host.run("env", *listed)).code == 0

    assert not (tmp_path / "ran").exists()
    git(there, "status", "--short")
    assert (tmp_path / "ran").exists()


async def test_git_in_another_folder_gets_what_a_reading_gets(tmp_path: Path) -> None:
    """``git -C`` checks no signature with the program that the folder's own settings name."""
    there = tmp_path / "there"
    repository(there)
    signs = tmp_path / "gpg"
    signs.write_text(
        f"#!/bin/sh\ncat >/dev/null\ntouch {tmp_path}/ran\necho '[GNUPG:] SIG_CREATED ' >&2\n"
        "printf -- '-----BEGIN PGP SIGNATURE-----\\n\\n-----END PGP SIGNATURE-----\\n'\n"
    )
    signs.chmod(0o755)
    git(there, "config", "gpg.program", str(signs))
    git(there, "config", "log.showSignature", "true")
    git(there, "commit", "-q", "-S", "--allow-empty", "-m", "signed")
    (tmp_path / "ran").unlink()
    listed = ("git", "-C", str(there), "log", "-1")
    async with two_machines(tmp_path, vectors=[listed]) as host:
        done = await host.run(*listed)

    assert b"signed" in done.stdout
    assert not (tmp_path / "ran").exists()
    git(there, "log", "-1")
    assert (tmp_path / "ran").exists()


async def test_default_cwd_of_the_acl_is_used(tmp_path: Path) -> None:
    """If there is none, it is the root; a missing one denies."""
    folder = tmp_path / "work"
    folder.mkdir()
    async with two_machines(tmp_path, default_cwd=str(folder)) as host:
        assert (await host.run("pwd")).stdout == f"{folder}\n".encode()
        folder.rmdir()
        assert (await host.run("pwd")).denial_reason is D.BAD_CWD
    async with two_machines(tmp_path / "other") as host:
        assert (await host.run("pwd")).stdout == b"/\n"


async def test_a_vector_of_git_names_no_other_folder(tmp_path: Path) -> None:
    """``git -C`` is a listed vector or none: what is listed without it stays in ``default_cwd``."""
    listed = ("git", "rev-parse", "--show-toplevel")
    named = ("git", "-C", str(tmp_path / "b"), "status", "--short")
    for name in ("a", "b"):
        repository(tmp_path / name)
    async with two_machines(
        tmp_path, vectors=[listed, named], default_cwd=str(tmp_path / "a")
    ) as host:
        elsewhere = await host.run("git", "-C", str(tmp_path / "b"), *listed[1:])
        unlisted = await host.run("git", "status", "--short")
        done, shown = await host.run(*listed), await host.run(*named)

    assert elsewhere.denial_reason is unlisted.denial_reason is D.ARGV_NOT_ALLOWED
    assert done.stdout == f"{tmp_path}/a\n".encode()
    assert shown.code == 0


async def test_output_caps_stop_forwarding_but_go_on_draining_and_counting(tmp_path: Path) -> None:
    """1 GB with a cap of 200 kB: the child ends on its own, all is counted, little is sent."""
    bomb = ("head", "-c", str(BOMB), "/dev/zero")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    async with two_machines(
        tmp_path, vectors=[bomb], max_stdout_bytes=200_000, warn_stdout_bytes=100_000
    ) as host:
        done = await host.run(*bomb)

    assert (done.code, done.stdout_bytes_total, done.truncated) == (0, BOMB, True)
    assert done.stdout == bytes(200_000)
    assert done.warnings == (Notice.STDOUT_LARGE,)
    assert host.service.counters.truncated == 1
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024


async def test_warnings_tell_what_passed_a_threshold(tmp_path: Path) -> None:
    """Each stream has its own, and so has the duration; below them nothing is said."""
    both = script(
        tmp_path,
        "import sys, time; print('x' * 99); print('y' * 9, file=sys.stderr); time.sleep(3.1)",
    )
    async with two_machines(
        tmp_path,
        vectors=[both, ("echo", "hello")],
        warn_stdout_bytes=100,
        warn_stderr_bytes=9,
        warn_duration_secs=3,
    ) as host:
        loud = await host.run(*both)
        still = await host.run("echo", "hello")

    assert loud.warnings == (Notice.STDERR_LARGE, Notice.DURATION_LONG)
    assert still.warnings == ()
    assert [one.warning for one in host.service.counters.recent] == list(loud.warnings)


async def test_the_client_renews_a_short_lease_while_waiting(tmp_path: Path) -> None:
    """A run of several leases' length ends on its own."""
    async with two_machines(tmp_path, lease_ms=2_400) as host:
        done = await host.run("sleep", "6")

    assert (done.code, done.warnings) == (0, ())


async def _held(host: Machines, *argv: str) -> Any:
    """Start a run on a connection that never renews; return the link."""
    link = await host.link()
    await link.send(host.sealed(*argv))
    assert isinstance(await link.receive(10), Accepted)
    await started(host)
    return link


async def test_if_renewals_stop_the_remote_child_is_terminated(tmp_path: Path) -> None:
    """The connection stays open and silent; the lease ends, the child with it, and says so."""
    async with two_machines(tmp_path, lease_ms=1500, limits=QUICK) as host:
        began = time.monotonic()
        link = await _held(host, "sleep", "60")
        end = await link.receive(10)
        took = time.monotonic() - began
        await link.close()

        assert isinstance(end, End)
        assert (end.signal, end.warnings) == (15, (Notice.LEASE_EXPIRED,))
        assert took < 5
        await until(lambda: not alive(pid_of(host)))  # its supervisor ends after it
    assert host.kinds() == ["requested", "started", "lease_expired", "finished"]


async def test_a_lost_connection_ends_the_child_at_once(tmp_path: Path) -> None:
    """No one is left to renew: it does not last until the lease is over."""
    async with two_machines(tmp_path, lease_ms=60_000, limits=QUICK) as host:
        link = await _held(host, "sleep", "60")
        link.writer.transport.abort()
        await until(lambda: host.kinds()[-1] == "finished")
        await until(lambda: not alive(pid_of(host)))  # its supervisor ends after it

    assert host.kinds() == ["requested", "started", "lease_expired", "finished"]


@pytest.mark.parametrize("wrong", ["another agent", "expired", "replayed", "another request"])
async def test_only_a_valid_renewal_renews(tmp_path: Path, wrong: str) -> None:
    """A forged, stale, repeated or foreign one does not count; a valid one renews."""
    async with two_machines(tmp_path, lease_ms=1500, limits=QUICK) as host:
        link = await host.link()
        run = host.sealed("sleep", "60")
        request_id = run.opened().payload.request_id
        await link.send(run)
        await link.receive(10)
        right = host.sealer().seal(Kind.RENEW, request_id, wall_clock_ms())
        await link.send(right)
        assert isinstance(await link.receive(10), Renewed)

        sealer, at, named = host.sealer(), wall_clock_ms(), request_id
        if wrong == "another agent":
            sealer = host.sealer(host.host)
        elif wrong == "expired":
            at -= 120_000
        elif wrong == "another request":
            named = new_id()
        bad = right if wrong == "replayed" else sealer.seal(Kind.RENEW, named, at)
        await asyncio.sleep(0.4)
        await link.send(bad)
        end = await link.receive(10)
        await link.close()

    assert isinstance(end, End)
    assert end.warnings == (Notice.LEASE_EXPIRED,)


TRAP = """
import pathlib, signal, sys, time
def told(*_):
    pathlib.Path({mark!r}).write_text("told")
    if {obeys}: sys.exit(9)
signal.signal(signal.SIGTERM, told)
print("ready", flush=True)
while True: time.sleep(0.01)
"""


@pytest.mark.parametrize("obeys", [True, False])
async def test_cancellation_sends_sigterm_first_then_sigkill_after_the_grace(
    tmp_path: Path, *, obeys: bool
) -> None:
    """A run that obeys TERM ends with its own code; any other is killed after the grace period."""
    mark = tmp_path / "mark"
    vector = script(tmp_path, TRAP.format(mark=str(mark), obeys=obeys))
    async with two_machines(tmp_path, vectors=[vector], limits=Limits(grace_ms=2_000)) as host:
        running = asyncio.ensure_future(host.run(*vector))
        call = await _pending(host)
        while not call._kept:
            await asyncio.sleep(0.01)
        assert await host.client.cancel(call.request_id)
        done = await running

    assert mark.read_text() == "told"
    assert (done.code, done.signal) == ((9, None) if obeys else (None, 9))
    assert done.warnings == (Notice.CANCELLED,)
    assert host.kinds() == ["requested", "started", "cancelled", "finished"]


async def _pending(host: Machines) -> Call:
    """Wait for the client's request in progress."""
    await started(host)
    (call,) = tuple(host.client)
    return call


async def test_a_request_is_cancelled_by_a_connection_of_its_own(tmp_path: Path) -> None:
    """If the asking program lost its connection, the id and the agent suffice."""
    async with two_machines(tmp_path, limits=QUICK) as host:
        link = await _held(host, "sleep", "60")
        (session,) = host.service.context.sessions
        other = host.sealed("echo", "hello", identity=host.host)
        assert isinstance(await host.say(other), End)
        assert len(host.service.context.sessions) == 1

        assert await host.client.cancel(session.request_id, host.host.agent_id)
        assert "cancelled" in host.kinds()  # on disk before the answer
        end = await link.receive(10)
        await link.close()
        assert not await host.client.cancel(session.request_id, host.host.agent_id)

    assert isinstance(end, End)
    assert end.warnings == (Notice.CANCELLED,)


async def test_nobody_cancels_what_another_started(tmp_path: Path) -> None:
    """A request that is not the caller's own is as unknown as one that does not exist."""
    async with two_machines(tmp_path / "a") as host, two_machines(tmp_path / "b") as other:
        link = await _held(host, "sleep", "60")
        (session,) = host.service.context.sessions
        stranger = host.sealer(other.identity).seal(
            Kind.CANCEL, session.request_id, wall_clock_ms()
        )
        answer = await host.say(stranger)
        assert isinstance(answer, End)
        assert answer.denial_reason is D.UNTRUSTED
        assert session.lease.ended is None
        await link.close()


async def test_concurrency_caps_hold_and_room_comes_back(tmp_path: Path) -> None:
    """Two at a time for one agent: the third is refused; one more runs when one has ended."""
    async with two_machines(tmp_path, max_concurrent_per_agent=2, limits=QUICK) as host:
        running = [asyncio.ensure_future(host.run("sleep", "60")) for _ in range(2)]
        await started(host, 2)
        assert (await host.run("echo", "hello")).denial_reason is D.CONCURRENCY_LIMIT
        for call in tuple(host.client):
            await host.client.cancel(call.request_id)
        await asyncio.gather(*running)

        assert (await host.run("echo", "hello")).code == 0


async def test_audit_events_are_on_disk_before_the_answer_goes_out(tmp_path: Path) -> None:
    """The reader of the answer finds its entry; the command itself finds ``started``."""
    log = str(tmp_path / "exec.log")
    async with two_machines(tmp_path, vectors=[("cat", log)]) as host:
        done = await host.run("cat", log)
        assert host.kinds() == ["requested", "started", "finished"]
        refused = await host.run("echo")
        assert refused.denial_reason is not None
        assert host.kinds()[-2:] == ["requested", "denied"]

    assert b'"kind":"started"' in done.stdout
    assert b'"kind":"finished"' not in done.stdout


async def test_the_log_is_hash_chained_and_verified_offline(tmp_path: Path) -> None:
    """The journal's own verifier reads it; a changed byte is found (negative control)."""
    async with two_machines(tmp_path) as host:
        await host.run("echo", "hello")
        await host.run("echo", "bye")
    path = tmp_path / "exec.log"
    whole = verify(path)
    assert whole.ok
    assert whole.records == len(host.entries())

    path.write_bytes(path.read_bytes().replace(b'"hello"', b'"hallo"'))
    assert not verify(path).ok


async def test_without_a_log_nothing_runs(tmp_path: Path) -> None:
    """A log that cannot be written denies; the peer is told why, and no process starts."""
    mark = tmp_path / "ran"
    async with two_machines(tmp_path, vectors=[("touch", str(mark))]) as host:
        host.log.close()
        done = await host.run("touch", str(mark))
        stranger = await host.say(host.sealed("x", identity=host.host))

    assert done.denial_reason is D.AUDIT_UNAVAILABLE
    assert isinstance(stranger, End)
    assert stranger.denial_reason is D.AUDIT_UNAVAILABLE
    assert not mark.exists()


async def test_a_connection_that_is_lost_is_a_terminal_result_with_what_is_known(
    tmp_path: Path,
) -> None:
    """What was printed by then is there; neither code nor denial is invented."""
    vector = script(tmp_path, "import time; print('begun', flush=True); time.sleep(60)")
    async with two_machines(tmp_path, vectors=[vector], limits=QUICK) as host:
        running = asyncio.ensure_future(host.run(*vector))
        call = await _pending(host)
        while not call._kept:
            await asyncio.sleep(0.01)
        for task in tuple(host.listener._tasks):
            task.cancel()
        done = await running

    assert done.warnings == (Notice.CONNECTION_LOST,)
    assert (done.stdout, done.code, done.signal, done.denial_reason) == (
        b"begun\n",
        None,
        None,
        None,
    )
    assert not done.ok


async def test_hanging_up_ends_what_was_asked(tmp_path: Path) -> None:
    """The cancelled caller leaves nothing running."""
    async with two_machines(tmp_path, limits=QUICK) as host:
        running = asyncio.ensure_future(host.run("sleep", "60"))
        await _pending(host)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await until(lambda: host.kinds()[-1] == "finished")
        await until(lambda: not alive(pid_of(host)))  # its supervisor ends after it


async def test_a_host_that_stops_tells_its_clients(tmp_path: Path) -> None:
    """What runs is ended, what arrives is refused; each has its final entry."""
    async with two_machines(tmp_path, limits=QUICK) as host:
        running = asyncio.ensure_future(host.run("sleep", "60"))
        await started(host)
        host.service.stop()
        done = await running
        refused = await host.run("echo", "hello")

    assert done.warnings == (Notice.HOST_STOPPING,)
    assert refused.denial_reason is D.HOST_STOPPING
    assert host.kinds() == [
        "requested",
        "started",
        "host_stopping",
        "finished",
        "requested",
        "denied",
    ]


async def test_a_double_forked_child_does_not_outlive_its_run(tmp_path: Path) -> None:
    """A daemon that left its session is found by the run's supervisor."""
    vector = script(
        tmp_path,
        "import os, time\nif os.fork() == 0:\n os.setsid()\n"
        " if os.fork() == 0: time.sleep(60)\n os._exit(0)\n",
    )
    async with two_machines(tmp_path, vectors=[vector], limits=QUICK) as host:
        done = await host.run(*vector)
        run_id = str(host.entries()[0]["run"])

    assert done.code == 0
    assert marked(run_id) == []


async def test_exec_frames_have_the_stable_prefix(tmp_path: Path) -> None:
    """S4 routes by it: without it, it is not an exec frame, whatever it says."""
    async with two_machines(tmp_path) as host:
        frame = encode(host.sealed("echo", "hello"))
        assert frame[4:].startswith(PREFIX)
        link = await host.link()
        link.writer.write(frame[:4] + b"x" * len(PREFIX) + frame[4 + len(PREFIX) :])
        answer = await link.receive(10)
        await link.close()

    assert isinstance(answer, End)
    assert answer.denial_reason is D.BAD_REQUEST
    assert "started" not in host.kinds()


async def test_a_trusted_peer_hears_that_exec_is_disabled(tmp_path: Path) -> None:
    """S4: a missing default list disables exec; a stranger is not even told that."""
    async with two_machines(tmp_path, acl="") as host:
        done = await host.run("echo", "hello")
        stranger = await host.say(host.sealed("x", identity=host.host))

    assert done.denial_reason is D.EXEC_DISABLED
    assert isinstance(stranger, End)
    assert stranger.denial_reason is D.UNTRUSTED


class Locked:
    """A guard of a gateway that is locked down."""

    def check(self, plan: ExecPlan) -> None:
        """Refuse everything."""
        raise LockedDown(f"locked down, so {plan.text} does not run")


async def test_a_locked_down_host_runs_nothing(tmp_path: Path) -> None:
    """The lock of the gateway applies to other machines as well; the log has no start."""
    async with two_machines(tmp_path, guard=Locked()) as host:
        done = await host.run("echo", "hello")

    assert done.denial_reason is D.LOCKED_DOWN
    assert host.kinds()[-1] == "denied"


async def test_a_lease_that_lasts_keeps_a_silent_connection(tmp_path: Path) -> None:
    """Negative control: it is the lease that ends the silent run, nothing else."""
    async with two_machines(tmp_path, lease_ms=60_000, limits=QUICK) as host:
        link = await _held(host, "sleep", "60")
        await asyncio.sleep(0.6)
        assert alive(pid_of(host))
        await link.close()


async def test_the_frame_of_output_is_bounded(tmp_path: Path) -> None:
    """A mebibyte comes in several frames, each of which fits."""
    vector = ("head", "-c", "999999", "/dev/zero")
    async with two_machines(tmp_path) as host:
        link = await host.link()
        await link.send(host.sealed(*vector))
        pieces = []
        while not isinstance(frame := await link.receive(10), End):
            pieces.append(frame)
        await link.close()

    sizes = [len(one.content) for one in pieces if isinstance(one, Piece)]
    assert sum(sizes) == 999_999
    assert len(sizes) >= 4


def test_every_vector_of_the_world_is_one_that_s4_allows() -> None:
    """The fixture's list is itself a list of the documented form."""
    assert len(LISTED) == 8
    assert Acl.parse("[exec]\nenabled = false\n").entries == {}
    assert Order(argv=("x",)).stdin is None
