"""Say what another product's file states about commands, in words of our own."""

from dataclasses import dataclass

from core.errors import BadRequest
from core.model.command import UNROUTED, Reading
from core.model.decision import Decision
from core.model.identity import DEFAULT_AGENT, AgentId
from core.policy import shell

LARGEST = 1_048_576
"""Bytes of a file that is read; a policy beyond this is none."""


@dataclass(frozen=True, slots=True)
class Stated:
    """One rule about commands: these words, and any after them if it is a ``prefix``.

    ``place`` is where it stands, ``text`` how it is written there. A rule of lower ``rank`` gives
    way to one of a higher; where all rank alike the strictest counts. ``paths`` are the only files
    that the program may be, empty: any. ``pattern``: the first word is a pattern of paths.
    """

    place: str
    text: str
    decide: Decision
    words: tuple[str, ...]
    prefix: bool
    reason: str | None = None
    rank: int = 0
    agent: AgentId = DEFAULT_AGENT
    paths: tuple[str, ...] = ()
    pattern: bool = False


@dataclass(frozen=True, slots=True)
class Unstated:
    """What could not be read as a rule about commands, and why.

    ``narrows``: it may ask about or deny commands, of ``program`` or, where that is ``None``, of
    any; then nothing that it might be about may be allowed.
    """

    place: str
    text: str
    why: str
    narrows: bool = False
    program: str | None = None
    rank: int = 0


Statement = Stated | Unstated


def words_of(text: str) -> tuple[str, ...] | None:
    """Return the words of one plain command, ``None`` where a shell would do more than that."""
    reading = shell.read(text)
    if not isinstance(reading, Reading) or len(reading.argvs) != 1:
        return None
    (argv,) = reading.argvs
    plain = tuple(word for word in argv if isinstance(word, str))
    routed = any(one != UNROUTED for one in reading.routings)
    return None if routed or len(plain) != len(argv) or plain[0] == "cd" else plain


def text_of(data: bytes, name: str) -> str:
    """Return the text of a file.

    Raises:
        BadRequest: it is too large, or no UTF-8.
    """
    if len(data) > LARGEST:
        raise BadRequest(f"{name} is larger than {LARGEST} bytes; is it the right file?")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise BadRequest(f"{name} is not UTF-8 text at byte {error.start}.") from error
