"""Print answers of remote exec: results, sessions, ids, counters, checks of an access list."""

import argparse
import os
import sys
from base64 import b64decode, b64encode

from bot.cli import discard_output, fail, remark
from bot.cli.call import print_json
from bot.client import Client

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_LOST, _DENIED, _LATE, _SIGNALLED = 1, 3, 4, 128


def ended(client: Client, answer: "dict[str, Any]", *, as_json: bool) -> int:
    """Print how a run ended, with separate streams, and return the exit code."""
    if "answer_trimmed" in answer["warnings"]:
        _complete(client, answer)
    try:
        if as_json:
            print_json(answer, indent=None)
        else:
            _print(answer)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as problem:
        return _unwritten(problem, exit_code(answer))
    return exit_code(answer)


def _unwritten(problem: OSError, code: int) -> int:
    """Report that the output cannot be written: the run is over, and nobody keeps its output."""
    discard_output()
    why = problem.strerror
    words = f"cannot write the output ({why}); the run ended with {code}"
    return fail(words, code=_LOST, kind="OSError")


def _complete(client: Client, answer: "dict[str, Any]") -> None:
    """Fetch the output that one answer could not carry."""
    kept = total = 0
    for stream in ("stdout", "stderr"):
        data = bytearray(b64decode(answer[f"{stream}_b64"]))
        more = True
        while more:
            params = {"request_id": answer["request_id"], "stream": stream, "offset": len(data)}
            page = client.call("exec.remote.output", params)
            data += b64decode(page["data_b64"])
            more = page["more"]
        answer[f"{stream}_b64"] = b64encode(data).decode()
        kept += len(data)
        total += answer[f"{stream}_bytes_total"]
    answer["truncated"] = kept < total
    answer["warnings"].remove("answer_trimmed")


def _print(answer: "Mapping[str, Any]") -> None:
    """Write both streams unchanged, then what was unusual about the run."""
    for name, stream in (("stdout", sys.stdout), ("stderr", sys.stderr)):
        stream.flush()
        stream.buffer.write(b64decode(answer[f"{name}_b64"]))
        stream.buffer.flush()
    if answer["denial_reason"] is not None:
        from core.remote.denials import RemoteDenial  # noqa: PLC0415 - for denials only

        reason = RemoteDenial(answer["denial_reason"])
        sys.stderr.write(f"sayso: denied ({reason}): {reason.sentence}\n")
    if answer["warnings"]:
        from core.remote.denials import Notice  # noqa: PLC0415 - for warnings only

        notices = [Notice(warning) for warning in answer["warnings"]]
        sys.stderr.writelines(f"sayso: {notice}: {notice.sentence}\n" for notice in notices)
    if answer["truncated"]:
        out, err = answer["stdout_bytes_total"], answer["stderr_bytes_total"]
        sys.stderr.write(f"sayso: truncated; the full output was {out} and {err} bytes\n")


def exit_code(answer: "Mapping[str, Any]") -> int:
    """Return what a shell would show: the code, 128 + signal, 3 denied, 4 timed out, 1 lost."""
    if answer["denial_reason"] is not None:
        return _DENIED
    if "timed_out" in answer["warnings"]:
        return _LATE
    if answer["code"] is not None:
        return int(answer["code"])
    return _LOST if answer["signal"] is None else _SIGNALLED + int(answer["signal"])


def cancel(client: Client, agent_id: str, args: argparse.Namespace) -> int:
    """Cancel a request.

    Raises:
        NotFound: no request with that id is under way.
    """
    params = {"request_id": args.cancel, "agent_id": agent_id}
    if not client.call("exec.remote.cancel", params)["cancelled"]:
        from core.errors import NotFound  # noqa: PLC0415 - for mistakes only

        raise NotFound(f"No request {args.cancel!r} is in progress; see `sayso exec sessions`.")
    if args.json:
        return print_json({"cancelled": True}, indent=None)
    sys.stdout.write("Cancelled.\n")
    return 0


def sessions(answer: "Mapping[str, Any]") -> str:
    """Format what is under way."""
    parts = (("asked by us", answer["pending"]), ("run here", answer["sessions"]))
    return "".join(
        f"{title}: {len(rows) or 'none'}\n" + "".join(map(_session, rows)) for title, rows in parts
    )


def _session(row: "Mapping[str, Any]") -> str:
    seconds = int(row["age_ms"]) // 1000
    return f"  {row['request_id']}  {row['agent_id'][:8]}…  {seconds:>5} s  {row['program']}\n"


def identity(args: argparse.Namespace) -> int:
    """Print our ids and our certificate's fingerprint; the keys are created if there are none."""
    from bot.settings import ensure_home, home_folder  # noqa: PLC0415 - slow to import
    from core.trust.certificate import fingerprint  # noqa: PLC0415 - slow to import
    from core.trust.identity import Identity  # noqa: PLC0415 - slow to import

    home = home_folder(None, os.environ)
    ensure_home(home)
    own = Identity.load(home)
    report = {
        "agent_id": own.agent_id,
        "machine_id": own.machine_id,
        "fingerprint": fingerprint(home),
    }
    if args.json:
        print_json(report, indent=None)
    else:
        sys.stdout.writelines(f"{key:<11} {value}\n" for key, value in report.items())
    return 0


def counters(answer: "Mapping[str, Any]") -> str:
    """Format the counters; the access list itself is never shown."""
    from bot.cli.exec.diagnostics import table  # noqa: PLC0415 - for this one alone

    return table(answer)


def check(args: argparse.Namespace) -> int:
    """Check an access list; warn on standard error of entries that no request can match."""
    from pathlib import Path  # noqa: PLC0415 - slow to import

    from core.errors import ConfigError  # noqa: PLC0415 - slow to import
    from core.remote.acl.load import load_explicit  # noqa: PLC0415 - slow to import

    try:
        acl = load_explicit(Path(args.exec_acl))
    except ConfigError as failure:
        kind, problems = type(failure).__name__, str(failure).splitlines()
        more = {"problems": problems}
        return fail(str(failure), code=failure.exit_code, kind=kind, more=more)
    report = {
        "ok": True,
        "enabled": acl.table.enabled,
        "pairs": len(acl.entries),
        "commands": acl.vectors,
        "warnings": acl.warnings,
    }
    if args.json:
        return print_json(report, indent=None)
    sys.stdout.write(f"{args.exec_acl}: ok ({acl.summary})\n")
    for line in acl.warnings:
        remark("warning", line)
    return 0
