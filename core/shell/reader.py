"""Read a command line for certain, or not at all (rules R0 to R10 of the shell reader).

A reading is run by execve, never by a shell (R0); so it must hold exactly the vectors that bash
and dash would both run. Two readers that share no code must agree on it (R10), and its canonical
form must read back as itself. Anything else is ``Unreadable``: never allowed unseen, shown to a
person.
"""

import re

from core.model.command import OpenWord, PartKind, Reading, Unreadable, Word
from core.shell import posix_reader, tree_reader
from core.shell.quoting import quote_reading
from core.shell.working_directory import STEP, stages_of

MAX_BYTES = 16 * 1024
"""Longest line in bytes of UTF-8; beyond it the grammar takes many milliseconds (R1)."""
MAX_COMMANDS = 128
"""Most commands of one line; 8,000 piped ones cost the grammar 76 ms (R1)."""

_LAYOUT = str.maketrans("\t\n", "  ")
# Printable to Unicode, yet seen as a blank or not at all: fillers, Braille blank, joiners and
# variation selectors (default ignorable, category Mn or Lo).
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0e\uffa0"
    "\U0001d159\U000e0100-\U000e01ef]"
    # After a sign that it turns into an emoji, the last selector is seen.
    "|(?<![\u203c\u2049\u2139\u2194-\u21aa\u231a-\u23ff\u25aa-\u27bf\u2934-\u2b55"
    "\U0001f000-\U0001faff])\ufe0f"
)

_NAMES = """
. : [ [[ ]] { } ! - alias autoload bg bind break builtin caller case chdir command compgen
complete compopt continue coproc declare dirs disown do done elif else enable esac eval exec
exit export fc fg fi for foreach function getopts hash help history if in jobs let local logout
mapfile nocorrect noglob popd pushd read readarray readonly repeat return select set shift shopt
source suspend then time times trap type typeset ulimit umask unalias unset until wait while
"""
# bash 5.2 and 5.3 (compgen -bk), dash 0.5.12, and what zsh puts before a command.
_SHELL_WORDS = frozenset(_NAMES.split())
# Lists and values that zsh keeps for itself; to set `path` there is to lose every program.
_ZSH_NAMES = """
aliases argv builtins cdpath commands dirstack fignore fpath functions galiases histchars history
jobdirs jobstates jobtexts mailpath manpath modules nameddirs options parameters path pipestatus
prompt psvar reswords saliases signals status termcap terminfo userdirs watch
"""
_ZSH_VARIABLES = frozenset(_ZSH_NAMES.split())
# These read a variable's name from their arguments, and a subscript in it is run by bash:
# `test -v 'a[$(x)]'`. The program knows no variables, so whoever writes it means the shell.
_SHELL_OPTIONS = {"test": ("-v", "-R"), "printf": ("-v",), "kill": ("%",)}

# Whatever number is among the words that these print, they print it and do nothing else.
_PRINTERS = {
    f"{folder}{name}": first
    for name, first in (("echo", 1), ("printf", 2))
    for folder in ("", "/bin/", "/usr/bin/")
}
"""Programs in whose words ``$?`` may stand, each with the first such word: after a format."""


def read(text: str) -> Reading | Unreadable:
    """Read ``text`` into the vectors that it runs and what joins them.

    Args:
        text: one command line, as an agent sent it.

    Returns:
        The reading, or ``Unreadable`` with the broken rule (``R1`` to ``R10``) and a short phrase.
    """
    unfit = _unfit(text)
    if unfit:
        return unfit
    second = posix_reader.read(text)
    if isinstance(second, Unreadable):
        return second
    odd = _odd_name(second) or ("?" in text and "$" in text and _odd_status(second, text))
    if odd:
        return odd
    first = tree_reader.read(text)
    if isinstance(first, Unreadable):
        return first
    if first != second or not _survives(first, text):
        return Unreadable("R10", "two readers disagree")
    return first


def _survives(reading: Reading, text: str) -> bool:
    """Return whether the canonical form reads back the same; ``text`` itself has just been read."""
    canonical = quote_reading(reading)
    return canonical == text or posix_reader.read(canonical) == reading


def _unfit(text: str) -> Unreadable | None:
    """Refuse what no reader should see: too long, not text, or not visible (R1, R5)."""
    if len(text) > MAX_BYTES:
        return Unreadable("R1", "a line longer than 16 KiB")
    if not text.isprintable():
        odd = next((c for c in text.translate(_LAYOUT) if not c.isprintable()), None)
        if odd is not None:
            return _unprintable(odd)
    if text.isascii():
        return None
    if len(text.encode()) > MAX_BYTES:
        return Unreadable("R1", "a line longer than 16 KiB")
    unseen = _UNSEEN.search(text)
    return _invisible(unseen[0]) if unseen else None


def _unprintable(odd: str) -> Unreadable:
    if odd < " " or odd == "\x7f":
        return Unreadable("R1", f"a control character (U+{ord(odd):04X})")
    if "\ud800" <= odd <= "\udfff":
        return Unreadable("R1", "text that is not valid UTF-8")
    return _invisible(odd)


def _invisible(odd: str) -> Unreadable:
    return Unreadable("R5", f"an invisible or misleading character (U+{ord(odd):04X})")


def _odd_name(reading: Reading) -> Unreadable | None:
    """Refuse names that mean something else to a shell than a program (R8, R9)."""
    if len(reading.argvs) > MAX_COMMANDS:
        return Unreadable("R1", f"a line of more than {MAX_COMMANDS} commands")
    stepped = bool(reading.loops)
    for argv in reading.argvs:
        name = argv[0]
        if isinstance(name, OpenWord):
            if not _names_a_path(name):
                return Unreadable("R8", "a program's name that is not certain")
            continue
        if name in _SHELL_WORDS:
            return Unreadable("R9", f"the shell's own word {name}")
        if not name or name[0] in "^%{" or "=" in name:
            return Unreadable("R8", "an assignment or no program's name in front")
        if name in _SHELL_OPTIONS and any(_is_own(word, _SHELL_OPTIONS[name]) for word in argv[1:]):
            return Unreadable("R9", f"the shell's own form of {name}")
        stepped = stepped or name == STEP
    return _odd_steps(reading) if stepped else None


def _odd_status(reading: Reading, text: str) -> Unreadable | None:
    """Refuse ``$?`` in anything but what a program prints, in loops and next to globs (R4).

    Next to a substitution as well: bash and zsh set it to the substitution's status, dash does not.
    """
    looped = {place for loop in reading.loops for place in range(loop.start, loop.end)}
    words = [word for loop in reading.loops for word in loop.words]
    for place, argv in enumerate(reading.argvs):
        first = len(argv) if place in looped else _first_printed(argv)
        words += argv[:first]
        words += (word for word in argv[first:] if _holds(word, PartKind.GLOB))
    if any(_holds(word, PartKind.STATUS) for word in words):
        return Unreadable("R4", "$? in anything but a word that echo or printf prints")
    substitutes = "$(" in text.replace("\\\n", "")
    if substitutes and any(
        _holds(word, PartKind.STATUS) for argv in reading.argvs for word in argv
    ):
        return Unreadable("R4", "$? next to a substitution, which changes it in some shells")
    return None


def _first_printed(argv: tuple[Word, ...]) -> int:
    """Return the index of the first word that is only printed; after all of them if none is."""
    first = _PRINTERS.get(argv[0]) if isinstance(argv[0], str) else None
    if first is None:
        return len(argv)
    # An option would make another word the format.
    formats = (isinstance(word, str) and not word.startswith("-") for word in argv[1:first])
    return first if all(formats) else len(argv)


def _holds(word: Word, kind: PartKind) -> bool:
    return isinstance(word, OpenWord) and any(part.kind is kind for part in word.parts)


def _odd_steps(reading: Reading) -> Unreadable | None:
    """Refuse loops and changes of folder whose outcome is not certain (R9)."""
    if any(loop.variable in _ZSH_VARIABLES for loop in reading.loops):
        return Unreadable("R9", "a variable that means something to zsh")
    found = stages_of(reading)
    return found if isinstance(found, Unreadable) else None


def _names_a_path(name: OpenWord) -> bool:
    """Return whether an expanded name begins with a folder's path, so it is not a shell's word."""
    return name.parts[0].kind is not PartKind.LITERAL and not any(
        part.kind is PartKind.GLOB or "=" in part.text for part in name.parts
    )


def _is_own(word: Word, starts: tuple[str, ...]) -> bool:
    """Return whether a word may be the option or operand that only the builtin knows."""
    if isinstance(word, str):
        return word.startswith(starts)
    first = word.parts[0]
    return first.kind is PartKind.GLOB or first.text.startswith(starts)
