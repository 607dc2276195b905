"""Find the code that a command runs beyond its own script: from its input, or in an unread text.

What is found here is bound, never allowed. A text is only guessed at: if any part of it takes code
from its input, every file that it names may be that code.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from typing import Final

from core.planning.code.texts.found import INSERTS, NOTHING, TAKES, Reached, joined, within
from core.planning.code.texts.spreading import (
    spreads_code,
    starts_found,
    with_unknown,
    without_markers,
)
from core.planning.code.texts.wrapping import (
    command_of_build,
    commands_in,
    looked_through,
    option_texts,
    option_words,
    runs_elsewhere,
    shelled_words,
    split_text,
    starts_shell,
    starts_unknown,
)
from core.planning.code.words.arguments import configuring, read_by
from core.planning.code.words.assigned import (
    filled,
    filled_in,
    loaded,
    texts,
    values,
    with_own_values,
)
from core.planning.code.words.inputs import inserts, starts_console, takes_input
from core.planning.code.words.interpreters import (
    MAKE,
    SHELL,
    Interpreter,
    interpreter_of,
    is_find,
    readers_of,
    starts_others,
)
from core.planning.code.words.loading import loaded_by_text
from core.planning.code.words.option_files import Reader
from core.planning.code.words.parts import (
    ENDS_OF_WORDS,
    fed_names,
    globs_of,
    is_input,
    paths_meant,
    without_patterns,
)
from core.planning.code.words.shell_words import shell_words
from core.planning.code.words.shortened import shortened
from core.planning.code.words.spoken import runs_of, with_interpreter
from core.planning.python_modules import searched_in
from core.programs.inline_code import inline_of
from core.programs.wrappers import is_shell, names_of
from core.shell.unread_commands import UNCERTAIN, Fragment, cut

DEEPEST_TEXT: Final = 4
"""How deep texts within texts are read; a deeper one counts as taking code from its input."""

_LONGEST_TEXT: Final = 131_072
"""Bytes of one word of a vector; the kernel starts nothing with a longer one (MAX_ARG_STRLEN)."""
_BLANKS: Final = re.compile(r"[\s;|&<>()`$]")
_GLOBS: Final = re.compile(r"[*?\[{]")
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*\+?=.*", re.DOTALL)
_BEFORE_A_COMMAND: Final = frozenset(
    ("if", "then", "elif", "else", "while", "until", "do", "!", "{", "time", "coproc")
)
_NAMES_A_GROUP: Final = frozenset(("function", "coproc"))
_ODD_NAMES: Final = frozenset(("[", "[[", "{", "}"))
_LISTS: Final = frozenset(("for", "select", "case", "read", "export", "[", "[["))
"""A shell handles the words after these itself, and starts none of them."""

_PREFIXES: Final = frozenset(("command", "builtin", "exec"))
_KEEPS_TEXT: Final = frozenset(
    ("trap", "alias", "mapfile", "readarray", "complete", "compgen", "bind", "fc")
)
"""A shell may later run the words after these as texts."""

_LOADS: Final = frozenset(("hash", "enable"))
_SOURCES: Final = frozenset((".", "source"))
_OBEYED: Final = frozenset((*_SOURCES, *_PREFIXES, *_LOADS, *_KEEPS_TEXT, "eval"))
_MOST_STARTED: Final = 32
_MOST_READ: Final = 4_096
_MOST_AGAIN: Final = 8
"""How many words after a command's interpreters are read, or how many times all of its words."""

_FED: Final = re.compile(
    r"at|batch|R|octave|irb|pry|ipython[0-9.]*|jshell|ghci|erl|iex|ed|dc|ocaml|sbcl|mongosh|s?ftp"
)
"""Programs that take code from their input, whatever their words are."""

_FILLS: Final = re.compile(
    r"\$\(|`|<\(|\b(?:read|mapfile|readarray|source|getopts)\b|(?:^|[\s;&|{(])\.\s"
)
"""Syntax through which a variable may get the content of a file."""

_UNSURE: Final = re.compile(r"[\0/\s;|&<>()`$]")
_EXPANDS: Final = re.compile(r"[$`]")
_ASSIGNED: Final = re.compile(r"\A[\w.-]+=")
_LAST_WORD: Final = re.compile(r"\$\{?_\b")
_TESTS: Final = frozenset(("[", "[[", "test"))


def by_vector(argv: Sequence[str], realpath: str, depth: int = 0) -> Reached:
    """Return what the command ``argv`` would run as code; ``takes`` says whether input is run."""
    if not depth and (said := filled(argv)) is not None:
        return joined((by_vector(argv, realpath, 1), by_vector(said, realpath, 1)))
    options = tuple(one.path for one in configuring(argv, realpath))
    console = TAKES if starts_console(argv) else NOTHING
    own = _read_from(options)
    return joined((_by_program(argv, realpath, depth), console, own))


def _by_program(argv: Sequence[str], realpath: str, depth: int) -> Reached:
    name = argv[0].rpartition("/")[2]
    readers = readers_of(argv[0], realpath)
    if not readers and is_shell(names_of(argv[0]) | names_of(realpath)):
        readers = (SHELL,)
    if readers:
        builds = filter(None, (command_of_build(one, argv) for one in readers))
        own = (_by_interpreter(one, argv[1:], depth) for one in readers)
        return joined((*own, *(_by_wrapper(one, depth) for one in builds)))
    if _FED.fullmatch(name) or name == "crontab":
        return _by_schedule(name, argv[1:])
    if runs_elsewhere(name):
        return Reached(takes=_by_wrapper(argv, depth).takes)
    return _by_wrapper(argv, depth) if starts_others(argv[0], realpath) else NOTHING


def by_options(argv: Sequence[str], realpath: str, depth: int = 0) -> Reached:
    """Return what a program may run as code by texts in its options: `-c core.pager='sh x'`.

    An interpreter's text is in its own language, and names data rather than code.
    """
    if isinstance(interpreter_of(argv[0]) or interpreter_of(realpath), Interpreter):
        return NOTHING
    words = tuple(dict.fromkeys(option_words(argv)))
    named = [piece for word in words for piece in with_interpreter(word)]
    found = (one for word in words for one in dict.fromkeys((word, word.partition("=")[2])))
    parts = (one.lstrip("!") for one in found if _BLANKS.search(one))
    read = (within(by_text(one, None, depth + 1)) for one in parts)
    if not runs_elsewhere(argv[0]):  # `git bisect run sh x`
        named += (path for one in _interpreted(argv, depth) for path in one.files)
    return joined((Reached(tuple(named)) if named else NOTHING, *read))


def _by_laden(argv: Sequence[str], realpath: str, depth: int) -> Reached:
    """Return what texts in the options of a program that is not a wrapper run as code."""
    if depth > DEEPEST_TEXT or not any(map(ENDS_OF_WORDS.search, argv)):
        return NOTHING
    inline = inline_of(names_of(argv[0]))
    carries = inline is not None and inline.problem(argv[1:]) is not None
    return by_options(argv, realpath, depth) if carries else NOTHING


def by_text(
    text: str, values: Mapping[str, str] | None = None, depth: int = 0, *, captured: bool = False
) -> Reached:
    """Return what a text given to a shell would run as code; ``values`` are known variables.

    ``captured``: another command gets its output.
    """
    text = without_patterns(text[:_LONGEST_TEXT])
    if depth > DEEPEST_TEXT:
        return Reached(named=(text,), takes=True)
    if not depth and "$" in text:
        said = with_own_values(text)
        if len(said) > 1:
            return joined(by_text(one, values, 1, captured=captured) for one in said)
    found = cut(text, values)
    piped = captured or found.piped
    inner = (by_text(one, values, depth + 1, captured=True) for one in found.within)
    known = {one: _by_fragment(one, depth) for one in dict.fromkeys(found.fragments)}
    # What is certainly fed comes first, because only the first of many names are looked for.
    named = [word for one in known for word in one.inputs]
    whole = _LAST_WORD.search(text) is not None
    for one, part in known.items():
        named += _feeding(one, part, piped=piped, whole=whole)
    named += filter(None, found.spare)
    named += shortened(text, tuple(named))
    all_of_it = joined((Reached(named=tuple(dict.fromkeys(named))), *known.values(), *inner))
    if not all_of_it.inserts:
        return all_of_it
    set_here = (word for one in known for word in one.words)
    filled = (*all_of_it.paths, *filled_in(set_here, found.spare))
    takes = all_of_it.takes or _FILLS.search(text) is not None
    return replace(all_of_it, paths=filled, takes=takes)


def _feeding(fragment: Fragment, part: Reached, *, piped: bool, whole: bool) -> Iterator[str]:
    """Yield the words of a command that may name files fed as code; ``whole``: all of them may."""
    words = fragment.words
    name = words[0] if words else ""
    own = not piped and interpreter_of(name) is not None
    # Apart from its code, its words are data, as in `bash -s data < notes`.
    left_out = (own and part.takes) or name in _TESTS or name == "tee"
    if words[:2] == ("git", "commit") and not whole:
        yield from (word for before, word in pairwise(words) if before != "-m")
    elif whole or not left_out:
        yield from words
    remote = not piped and runs_elsewhere(name)
    if part.takes or not ((own or remote) and _is_given(fragment)):
        yield from fragment.documents


def _is_given(fragment: Fragment) -> bool:
    """Return whether a command's input is in the text itself, and it opens nothing else."""
    return (
        bool(fragment.documents)
        and not fragment.inputs
        and (
            runs_elsewhere(fragment.words[0])
            or not any(_UNSURE.search(word) for word in fragment.words[1:])
        )
    )


def _by_fragment(fragment: Fragment, depth: int) -> Reached:
    words = list(fragment.words)
    startup, later = tuple(loaded(words)), tuple(texts(words))
    if words and words[0] in _NAMES_A_GROUP and "{" in words[1:3]:
        del words[: words.index("{")]
    while words and (words[0] in _BEFORE_A_COMMAND or _ASSIGNMENT.fullmatch(words[0])):
        if words[0] == "time" and words[1:2] and words[1][:1] == "-":
            break  # the program, which has options
        del words[0]
    if words and words[0] in _LISTS:
        words = []
    found = _by_command(words, depth) if words else NOTHING
    if words and found.takes and _is_given(fragment):
        found = _by_documents(found, fragment, words[0], depth)
    # The word after `<<<` is read as a text.
    given = (by_text(one, None, depth + 1) for one in fragment.inputs if _BLANKS.search(one))
    run = (within(by_text(one, None, depth + 1)) for one in later)
    return joined((found, Reached(paths=startup) if startup else NOTHING, *given, *run))


def _by_documents(found: Reached, fragment: Fragment, name: str, depth: int) -> Reached:
    """Return what an interpreter would run as code if its input is in here-documents."""
    reader = interpreter_of(name)
    elsewhere = runs_elsewhere(name)
    if isinstance(reader, Reader):
        return found
    if reader is None and not elsewhere:
        return found
    if reader is not SHELL:
        loaded = () if reader is None else tuple(loaded_by_text(reader, fragment.documents))
        folders = (*found.folders, *(at for one in fragment.documents for at in searched_in(one)))
        takes = any(map(_EXPANDS.search, fragment.expanded))
        return replace(found, paths=(*found.paths, *loaded), folders=folders, takes=takes)
    inner = joined(by_text(one, None, depth + 1) for one in fragment.documents)
    return joined((inner if inner.takes else within(inner), replace(found, takes=inner.takes)))


def _by_command(words: Sequence[str], depth: int) -> Reached:
    name, *rest = words
    last = name.rpartition("/")[2]
    if not last or UNCERTAIN in last or (_GLOBS.search(last) and last not in _ODD_NAMES):
        return Reached(paths=tuple(paths_meant(name)), takes=True)
    if name in _OBEYED:
        return _by_builtin(name, rest, depth)
    return joined((by_vector(words, name, depth), _by_laden(words, name, depth)))


def _by_builtin(name: str, rest: Sequence[str], depth: int) -> Reached:
    """Return what a shell would run as code by one of its builtins, such as `source` or `eval`."""
    if depth > DEEPEST_TEXT:
        return TAKES
    if name in _SOURCES:
        code = _plain(rest)
        # Without a file, fish reads its input.
        return _read_from(code[: 1 + (rest[:1] == ["-p"])]) if code else TAKES
    if name in _PREFIXES:
        behind = _plain(rest[2:] if rest[:1] == ["-a"] else rest)
        own = _by_command(behind, depth + 1) if behind else NOTHING
        return joined((own, by_vector((name, *rest), name, depth)))
    if name == "eval":
        text = " ".join(rest)
        # In fish, brackets are a substitution: `eval (cat x)`.
        takes = not text or UNCERTAIN in text
        return joined((_by_later(text, depth), TAKES if takes else NOTHING))
    if name in _LOADS:
        return Reached(paths=tuple(rest))
    return joined(_by_later(_ASSIGNED.sub("", word), depth) for word in rest)


def _plain(words: Sequence[str]) -> Sequence[str]:
    """Return the words from the first one that is not an option."""
    plain = (place for place, word in enumerate(words) if word[:1] != "-" or word == "-")
    at = next(plain, len(words))
    return words[at:]


def _by_later(text: str, depth: int) -> Reached:
    """Return what a shell would run as code by a text that it joins from words and then runs."""
    return joined((by_text(text, None, depth + 1), INSERTS if UNCERTAIN in text else NOTHING))


def _read_from(words: Sequence[str]) -> Reached:
    """Return what words that name a script would run as code."""
    takes = any(is_input(word) or UNCERTAIN in word.rpartition("/")[2] for word in words)
    return Reached(tuple(piece for word in words for piece in paths_meant(word)), takes=takes)


def _by_interpreter(reader: Interpreter | Reader, words: Sequence[str], depth: int) -> Reached:
    if reader is SHELL:
        return _by_shell(words, depth)
    runs = tuple(runs_of(reader, words, lambda text: by_text(text, None, depth + 1).takes))
    if runs:
        return Reached(runs, runs, takes=True)
    code = [word.path for word in read_by(reader, words)]
    found = _read_from(code) if code else NOTHING
    takes = TAKES if takes_input(reader, words) else NOTHING
    made = Reached(made=tuple(filter(None, code))) if reader is MAKE else NOTHING
    return joined((found, takes, INSERTS if inserts(reader, words) else NOTHING, made))


def _by_shell(words: Sequence[str], depth: int) -> Reached:
    """Return what a shell that is given these words would run as code."""
    found = shell_words(tuple(words))
    code = [one.path for one in found.scripts]
    # The options of some shells contain texts: `--init-command='source x'`.
    held = (one for one in code if _BLANKS.search(one)) if depth <= DEEPEST_TEXT else ()
    read = [
        within(_by_later(one, depth), (*found.rest, *shortened(one, found.rest)))
        for one in (*found.texts, *held)
    ]
    return joined((_read_from(code), TAKES if found.fed else NOTHING, *read))


def _by_schedule(name: str, words: Sequence[str]) -> Reached:
    operands = [word for word in words if not word.startswith("-")]
    if name == "crontab":
        return Reached(tuple(operands), takes=not operands or "-" in words)
    after = [words[at + 1] for at, word in enumerate(words[:-1]) if word == "-f"]
    return Reached(tuple(after), takes=True)


def _by_wrapper(argv: Sequence[str], depth: int) -> Reached:
    """Return what a wrapper would run as code: texts in its words, and interpreters it starts."""
    if depth > DEEPEST_TEXT:
        return TAKES
    words = (word for word in argv[1:] if _BLANKS.search(word))
    found_texts = dict.fromkeys((*words, *option_texts(argv)))
    read = [within(by_text(word, None, depth + 1)) for word in found_texts]
    split = split_text(argv)
    if split is not None:
        read.append(within(by_text(f"env {split}", None, depth + 1)))
    glued = (word for word in argv[1:] if word[:1] == "-" or "=" in word)
    startup = (*loaded(argv), *(piece for word in glued for piece in with_interpreter(word)))
    own = Reached(startup, takes=starts_shell(argv) or starts_unknown(argv))
    found = joined((own, *read, *_started(argv, depth)))
    if not (found.takes or found.inserts):
        return found
    return replace(found, paths=(*found.paths, *values(argv[1:])))


def _started(argv: Sequence[str], depth: int) -> Iterator[Reached]:
    """Yield what each program named after a wrapper would run as code: `sudo -u sh bash x`."""
    inside = [one for one in commands_in(argv) if one and interpreter_of(one[0]) is None]
    found = [*_interpreted(argv, depth), *(_by_command(one, depth + 1) for one in inside)]
    yield from found
    if is_find(argv[0]) and starts_found(inside, found):
        yield Reached(tuple(looked_through(argv)))
    shelled = shelled_words(argv)
    if shelled is not None:
        yield _by_shell(shelled, depth)
    if spreads_code(argv):
        unknown, words = with_unknown(argv), (*argv[1:], *without_markers(argv))
        globs = (one for word in unknown for one in globs_of(word))
        yield Reached(paths=(*globs, *fed_names(words, ())), takes=True)
        if unknown != tuple(argv):
            yield _by_wrapper(unknown, depth + 1)


def _interpreted(argv: Sequence[str], depth: int) -> Iterator[Reached]:
    """Yield what each interpreter that is named after a wrapper's own name would run."""
    ends = is_find(argv[0])
    left = max(_MOST_READ, len(argv) * _MOST_AGAIN)
    named = ((place, interpreter_of(word)) for place, word in enumerate(argv) if place)
    inner = ((place, reader) for place, reader in named if reader is not None)
    for place, reader in islice(inner, _MOST_STARTED):
        left -= len(argv) - place
        if left < 0:
            yield TAKES
            break
        end = argv.index(";", place) if ends and ";" in argv[place:] else len(argv)
        yield _by_interpreter(reader, argv[place + 1 : end], depth)
