"""Format the parts of cards: programs, concerns, endings, durations, digests, omissions."""

from datetime import UTC, datetime, tzinfo

from core.approvals.messages import limits, ran
from core.model.approval import Approval, ApprovalReply, ApprovalState, Resolution
from core.model.command import PlannedCommand
from core.model.decision import Decision, DenialReason, SegmentVerdict
from core.model.identity import LOCAL_CHANNEL, Actor
from core.model.result import Denied, ExecResult, Finished, Unknown
from core.text.render import Redacted, join, phrase, redact, show_argv

_SYSTEM_FOLDERS = ("/usr/", "/bin/", "/sbin/", "/opt/", "/nix/store/", "/snap/")
_QUINT_CONSONANTS = "bdfghjklmnprstvz"
_QUINT_VOWELS = "aiou"
_DIGEST_WORDS = 4

_UNANSWERED = "Expired at {}: nobody answered, so nothing ran"
_UNREACHED = "Not delivered by {}: nothing ran"

OPEN_PAGE = "Open the control page"
"""The label of a link to the control page."""

EMPTY = "The command is empty; it can only be denied."
"""What a prompt shows in place of an empty command."""
TOO_LONG = "Too long for one message."
READ_ABOVE = "The full text is above; read it first."
"""What a prompt shows if its command was sent before it, in parts or as a file."""
ON_PAGE = "Allow on the page…"
"""The button that opens a question's page, and the shorter one next to a code."""
ON_PAGE_SHORT = "allow…"


def digest_words(digest: str) -> str:
    """Return the first 64 bits of a digest as four words that can be read out.

    Each word is a proquint: 16 bits as alternating consonants and vowels (arXiv:0901.4016).
    """
    quints = (int(digest[start : start + 4], 16) for start in range(0, _DIGEST_WORDS * 4, 4))
    return "-".join(_quint(bits) for bits in quints)


def duration(milliseconds: int) -> str:
    """Format a duration in its largest whole units: ``1 h 30 min``, ``45 s``."""
    seconds = max(0, milliseconds) // 1000
    units = ((seconds // 3600, "h"), (seconds % 3600 // 60, "min"), (seconds % 60, "s"))
    return " ".join(f"{count} {unit}" for count, unit in units if count) or "0 s"


def _quint(bits: int) -> str:
    return (
        _QUINT_CONSONANTS[bits >> 12 & 15]
        + _QUINT_VOWELS[bits >> 10 & 3]
        + _QUINT_CONSONANTS[bits >> 6 & 15]
        + _QUINT_VOWELS[bits >> 4 & 3]
        + _QUINT_CONSONANTS[bits & 15]
    )


def program(command: PlannedCommand) -> Redacted:
    """Format a program as called and the file that starts, with what is odd about it."""
    name = redact(command.argv[0] if command.argv else "", strict=True)
    found = command.executable
    if found is None:
        return phrase("{}: {}", name, redact(command.problem or "not found"))
    link = "" if found.path == found.realpath else " (a link to {})"
    odd = "" if found.realpath.startswith(_SYSTEM_FOLDERS) else "; not in a system folder"
    shown = redact(found.path)
    called = shown if name == shown else phrase("{}: {}", name, shown)
    return phrase("{}" + link + odd, called, redact(found.realpath))


def programs(command: PlannedCommand) -> tuple[Redacted, ...]:
    """List a command's program, and below a wrapper those that it starts, however deep."""
    below = tuple(one for inner in command.inner for one in programs(inner))
    starter = redact(command.argv[0] if command.argv else "", strict=True)
    return (program(command), *(phrase("{}, started by {}", one, starter) for one in below))


def odd_programs(command: PlannedCommand) -> tuple[Redacted, ...]:
    """List the programs of a command that are not what their names suggest.

    These cannot be run, are reached by a link, are outside the system's folders, have another name
    than their file, or a name with escaped characters.
    """
    return tuple(program(one) for one in command.all_of_it if _is_odd(one))


def _is_odd(command: PlannedCommand) -> bool:
    found = command.executable
    if found is None or found.path != found.realpath:
        return True
    called = command.argv[0] if command.argv else ""
    elsewhere = not found.path.startswith(_SYSTEM_FOLDERS)
    renamed = called.rpartition("/")[2] != found.path.rpartition("/")[2]
    return elsewhere or renamed or redact(called, strict=True).text != called


def concerns(segments: tuple[SegmentVerdict, ...]) -> tuple[Redacted, ...]:
    """List the commands that policy alone would not allow, each with its number."""
    return tuple(
        phrase("{}. {} ({})", Redacted(str(number)), show_argv(segment.argv), redact(segment.rule))
        for number, segment in enumerate(segments, 1)
        if segment.decision is not Decision.ALLOW
    )


def headline(resolution: Resolution | None, zone: tzinfo = UTC) -> Redacted:
    """Return what was decided, by whom, and when (HH:MM and the zone's name)."""
    if resolution is None:
        return Redacted("Still waiting for an answer")
    at = Redacted(f"{datetime.fromtimestamp(resolution.at_ms / 1000, zone):%H:%M %Z}")
    by = _person(resolution.by)
    match resolution.state:
        case ApprovalState.ALLOWED:
            return phrase(f"Allowed {_how_far(resolution)} by {{}} at {{}}", by, at)
        case ApprovalState.DENIED:
            return phrase("Denied by {} at {}", by, at)
        case ApprovalState.EXPIRED:
            unseen = resolution.reason is DenialReason.UNDELIVERED
            return phrase(_UNREACHED if unseen else _UNANSWERED, at)
        case ApprovalState.CANCELLED:
            return phrase("Withdrawn at {}: nothing ran", at)
        case ApprovalState.PENDING:
            return Redacted("Still waiting for an answer")


def _how_far(resolution: Resolution) -> str:
    if resolution.reply is not ApprovalReply.ALLOW_ALWAYS:
        return "once"
    return "always" if resolution.terms is None else limits(resolution.terms)


def agreement(approval: Approval) -> Redacted:
    """Return how many people must allow, and who did; empty if one person is enough."""
    if approval.quorum == 1:
        return Redacted("")
    so_far = tuple(_person(vote.by) for vote in approval.votes)
    allowed = phrase("; allowed so far by {}", join(", ", so_far)) if so_far else Redacted("")
    return phrase("{} people must allow{}", Redacted(str(approval.quorum)), allowed)


def _person(actor: Actor | None) -> Redacted:
    if actor is None:
        return Redacted("Sayso")
    account = redact(actor.account, strict=True)
    channel = redact(actor.channel, strict=True)
    if actor.name in {"", actor.account}:
        return phrase("{} {}", channel, account)
    if actor.channel == LOCAL_CHANNEL:
        # Users are named by the machine, not by themselves, so the name says as much as the uid.
        return phrase("{} ({})", redact(actor.name, strict=True), channel)
    return phrase("{} ({} {})", redact(actor.name, strict=True), channel, account)


def detail(resolution: Resolution | None, result: ExecResult | None) -> Redacted:
    """Return why nothing ran, or how the run ended; empty if neither is known."""
    note = resolution.note if resolution else ""
    if resolution is not None and resolution.state is not ApprovalState.ALLOWED:
        return phrase("Reason: {}", redact(note)) if note else Redacted("")
    match result:
        case Finished():
            words = ran(result)
            return Redacted(words[0].upper() + words[1:])
        case Denied():
            reason = redact(result.reason, strict=True)
            return phrase("Nothing ran ({}): {}", reason, redact(result.why))
        case Unknown():
            return Redacted(
                "The gateway died while it ran: how it ended is unknown, and it is not retried"
            )
        case None:
            return Redacted("")


def too_many(size: int) -> str:
    """Format the note that a command is too long to be allowed."""
    return f"{size:,} characters are too many to show, so it can only be denied."


def left_out(count: int) -> str:
    """Format the mark between the ends of a command: how many characters are elsewhere."""
    return f"… {count:,} characters are not in this message …"


def and_more(count: int) -> str:
    """Format the mark after the beginning of a command: how many characters follow."""
    return f"… and {count:,} more characters"


def shortened(head: str, count: int) -> str:
    """Return the head of a value with how many characters follow, if any do.

    No command can hold this mark: "…" is always escaped in what is not ours.
    """
    return f"{head} […{count:,} more]" if count else head


def whole_title(code: str, size: int) -> str:
    """Return the text next to a file that contains a whole command."""
    return f"{code} · the whole command: {size:,} characters"


def part_title(code: str, number: int, total: int) -> str:
    """Return the text above one part of a whole command."""
    return f"{code} · the whole command, part {number} of {total}"


def part_end(number: int, total: int) -> str:
    """Return the text below one part of a whole command, so that no blank at its end is lost."""
    return f"End of part {number} of {total}."


def file_name(code: str) -> str:
    """Return the name of a file that contains a whole command."""
    return f"command-{code}.txt"
