"""Turn what another product states into rules and allowlist entries, never looser than it was.

- A command or a prefix that was allowed becomes one rule. After a prefix any words may follow, as
they could there; but if only the name of a program is given that runs others through its arguments
(git, find, python3), only those that its profile knows, unless ``trust_source``. - What was asked
about or denied applies in every folder, because ``cd`` would be a way around it. - Shells, wrappers
and inline code are never listed. - If something restrictive could not be carried over, the allows
it might be about are dropped, too.
"""

from collections.abc import Callable, Sequence
from string import ascii_letters

from bot.policy_tools.importing.result import (
    Fate,
    Imported,
    ImportedEntry,
    ImportedRule,
    Outcome,
)
from bot.policy_tools.importing.statements import (
    INNER,
    STAR,
    Everything,
    FileRule,
    Rule,
    Statement,
    UnreadStatement,
)
from bot.policy_tools.importing.template_elements import (
    ANY_REST,
    KNOWN_REST,
    Unwritable,
    needs_pattern,
    pattern_of,
    vectors_of,
    without_secrets,
)
from bot.policy_tools.suggestible import is_interpreter
from core.model.command import PinnedFile
from core.model.decision import Decision, Promise
from core.policy.matching.path_patterns import complaint, is_glob
from core.policy.rules.lint_entries import never_counts
from core.programs.carriers import is_known, worst_effects
from core.programs.implicit_reads import Contents, contents_of
from core.programs.inline_code import inline_of
from core.programs.profiles.carrier_profile import Effect
from core.programs.wrappers import names_of, wrapper_kind

_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-")
_UNLISTED = "what is not listed is asked about here; set tools.exec.ask to off to deny it"
_EVERY_LETTER = f"-{ascii_letters}"
"""A cluster of all short options."""
_RUN_BY_INLINE_ONLY = frozenset(("fd", "fdfind", "find", "rg", "sort"))
"""They run others only by options that need an answer under any rule."""
_EVERY_PROGRAM = "/**"
Find = Callable[[str], PinnedFile | None]

_CODE = (("-c", "x"), ("-e", "x"), ("-exec", "x"), ("x",))
"""Further arguments in the forms in which programs take code."""


def carried(
    statements: Sequence[Statement],
    names: Sequence[str],
    find: Find,
    home: str,
    *,
    trust_source: bool,
) -> Imported:
    """Convert the statements of some files, comparing restrictive ones with all that allow.

    ``find`` looks up a program on the search path; ``home`` is what ``~`` means.
    """
    carrier = _Carrier(statements, find, home, trust_source=trust_source)
    return Imported(tuple(map(carrier.outcome, statements)), tuple(names))


class _Carrier:
    def __init__(
        self, statements: Sequence[Statement], find: Find, home: str, *, trust_source: bool
    ) -> None:
        self._find, self._home, self._trust_source = find, home, trust_source
        rules = [one for one in statements if isinstance(one, Rule)]
        self._allowing = [one for one in rules if _allows(one)]
        self._blocks = [one for one in statements if isinstance(one, Everything)]
        self._lost = [one for one in statements if isinstance(one, UnreadStatement) and one.narrows]
        self._narrowing: dict[str, list[Rule]] = {}
        for one in rules:
            if not _allows(one):
                head = one.words[0] if _is_name(one.words[0]) else ""
                self._narrowing.setdefault(head.rpartition("/")[2], []).append(one)
        self._files = [one for one in statements if isinstance(one, FileRule)]

    def outcome(self, one: Statement) -> Outcome:
        """Return what becomes of a statement."""
        match one:
            case UnreadStatement(narrows=True):
                return Outcome(one.place, Fate.LOST, one.why)
            case UnreadStatement():
                return Outcome(one.place, Fate.DROPPED if one.allows else Fate.IGNORED, one.why)
            case FileRule():
                rule = ImportedRule(one.decide, "reads", one.pattern, reason=_reason(one))
                return Outcome(one.place, Fate.CARRIED, one.note, (rule,))
            case Everything():
                return self._everything(one)
            case Rule():
                return self._allow(one) if _allows(one) else self._narrow(one)

    def _everything(self, one: Everything) -> Outcome:
        if any(other.rank > one.rank for other in self._allowing):
            return Outcome(one.place, Fate.CARRIED, _UNLISTED)
        rule = ImportedRule(one.decide, "glob", _EVERY_PROGRAM, reason=_reason(one))
        return Outcome(one.place, Fate.CARRIED, None, (rule,))

    # What asks or denies

    def _narrow(self, one: Rule) -> Outcome:
        head = one.words[0]
        if head == "cd":
            return Outcome(one.place, Fate.LOST, "cd is a step of Sayso's own, which no rule sees")
        words, note = without_secrets(one.words), one.note
        if words != one.words:
            note = "what resembles a secret matches anything in the rule"
        if "/" in head and not head.startswith("/"):
            words = (head.rpartition("/")[2] or STAR, *words[1:])
            note = note or "a relative path matches any program of that name"
        absolute = head.startswith("/")
        if absolute and complaint(head, self._home) is not None:
            words = (head.rpartition("/")[2] or STAR, *words[1:])
        named = not absolute and set(words[0]) <= _NAME
        if needs_pattern(words) or not (named or words[0].startswith("/")):
            rule = ImportedRule(
                one.decide, "words", pattern_of(words, prefix=one.prefix), reason=_reason(one)
            )
        else:
            rest = (ANY_REST,) if one.prefix else ()
            rule = ImportedRule(one.decide, "argv", (*words, *rest), reason=_reason(one))
        return Outcome(one.place, Fate.CARRIED, note, (rule,))

    # What allows

    def _allow(self, one: Rule) -> Outcome:
        problem = self._blocked(one)
        if problem is not None:
            return Outcome(one.place, Fate.DROPPED, problem)
        try:
            found = self._entries(one) if one.pattern else self._rules(one)
        except Unwritable as error:
            return Outcome(one.place, Fate.DROPPED, str(error))
        more = [why for why in (self._outranked(one), self._may_read(one)) if why is not None]
        if not more:
            return found
        why = "; ".join([found.why, *more] if found.why is not None else more)
        return Outcome(one.place, Fate.NARROWER, why, found.rules, found.entries)

    def _may_read(self, one: Rule) -> str | None:
        """Note that the program may read files that a rule protects, though no word names them."""
        if not self._files:
            return None
        head = one.words[0]
        path = head if head.startswith("/") else f"/usr/bin/{head}"
        words = [word for word in one.words[1:] if STAR not in word and INNER not in word]
        more = (_EVERY_LETTER, "x") if one.prefix else ()
        match contents_of((path, *words, *more), path, path):
            case Contents.NONE:
                return None
            case Contents.FILES:
                wide = (one.place.where for one in self._files if one.everywhere)
                where = next(wide, None)
                return None if where is None else f"{where} protects its files in every folder"
            case _:
                where = self._files[0].place.where
                return f"what may read a file of {where} unnamed is asked about"

    def _blocked(self, one: Rule) -> str | None:
        for block in self._blocks:
            if block.rank >= one.rank:
                return f"{block.place.where} is about every command"
        for lost in self._lost:
            if lost.rank >= one.rank:
                return f"{lost.place.where} may be about it and could not be carried over"
        return None

    def _outranked(self, one: Rule) -> str | None:
        """Return a rule that wins here though it gives way there, ``None`` if there is none."""
        name = one.words[0].rpartition("/")[2]
        for other in (*self._narrowing.get(name, ()), *self._narrowing.get("", ())):
            less = other.rank < one.rank or other.note is not None
            if less and _overlap(one, other):
                return f"{other.place.where} wins here, because the strictest rule counts"
        return None

    def _entries(self, one: Rule) -> Outcome:
        """Return the entries for a pattern of paths, with any arguments or with some."""
        pattern, *arguments = one.words
        why = complaint(pattern, self._home)
        if why is not None:
            raise Unwritable(why)
        names = names_of(pattern)
        whole = not is_glob(pattern)
        if whole or not is_glob(pattern.rpartition("/")[2]):
            _check_listable(names, bare=not arguments)
        note = None
        if arguments:
            vectors, note = vectors_of(tuple(arguments), prefix=one.prefix)
            entries = [Promise(pattern, vector) for vector in vectors]
        elif not one.prefix:
            entries = [Promise(pattern, ())]
        elif whole and is_known(pattern):
            free = self._trusts((pattern,))
            entries = [Promise(pattern, (ANY_REST,)) if free else Promise(pattern)]
            note = None if free else _by_profile(pattern)
        else:
            entries = [Promise(pattern)]
            if not whole:
                note = "programs that run others, and unknown ones of the system, are asked about"
        note = _with_inline(note, names, arguments) if one.prefix else note
        for entry in entries:
            _check_counts(entry)
        fate = Fate.EXACT if note is None else Fate.NARROWER
        found = tuple(ImportedEntry(one.agent, entry) for entry in entries)
        return Outcome(one.place, fate, note, entries=found)

    def _rules(self, one: Rule) -> Outcome:
        head, note = self._head(one)
        words = one.words[1:]
        if any(not word.replace(STAR, "").replace(INNER, "").isprintable() for word in words):
            raise Unwritable("it holds characters that cannot be printed")
        if without_secrets(one.words) != one.words:
            raise Unwritable("it contains what may be a secret; a stored rule must not")
        file = self._find(head)
        if one.paths:
            if file is None or file.path not in one.paths:
                raise Unwritable(f"what {head!r} is found as is none of the files that it may be")
            head = file.path
        names = names_of(head)
        if file is not None:
            names |= names_of(file.path) | names_of(file.realpath)
        _check_listable(names, bare=not words and not one.prefix)
        open_ended = one.prefix or any(STAR in word for word in words)
        if open_ended:
            note = _with_inline(note, names, words)
        vectors, lacks = self._vectors(one, head, file)
        for vector in vectors:
            given = tuple(word for word in vector if not word.startswith("<"))
            _check_counts(Promise(head, given if given == vector else (*given, "x")))
        notes = [text for text in (note, lacks) if text is not None]
        rules = [
            ImportedRule(Decision.ALLOW, "argv", (head, *vector), one.folder) for vector in vectors
        ]
        rules += [ImportedRule(Decision.ASK, "words", words) for words in one.except_words]
        fate = Fate.NARROWER if notes else Fate.EXACT
        return Outcome(one.place, fate, "; ".join(notes) or None, tuple(rules))

    def _vectors(
        self, one: Rule, head: str, file: PinnedFile | None
    ) -> tuple[list[tuple[str, ...]], str | None]:
        words = one.words[1:]
        named = one.prefix and all(word.startswith("-") for word in words)
        if named and not self._trusts((head,) if file is None else (file.path, file.realpath)):
            vectors, lacks = vectors_of(words, prefix=False) if words else ([()], None)
            note = _by_profile(head) if lacks is None else f"{lacks}; {_by_profile(head)}"
            return [(*vector, KNOWN_REST) for vector in vectors], note
        return vectors_of(words, prefix=one.prefix)

    def _trusts(self, paths: Sequence[str]) -> bool:
        """Return whether a program may have any arguments only because it was named."""
        names = frozenset(name for path in paths for name in names_of(path))
        if self._trust_source or names & _RUN_BY_INLINE_ONLY:
            return True
        found = [worst_effects(path) for path in paths]
        return not is_interpreter(names) and not any(Effect.RUNS in one for one in found)

    def _head(self, one: Rule) -> tuple[str, str | None]:
        head = one.words[0]
        if head == "cd":
            raise Unwritable("cd is a step of Sayso's own and needs no rule")
        note = None
        if STAR in head or INNER in head:
            known = head.rstrip(STAR)
            if not known or STAR in known or INNER in known or len(one.words) > 1:
                raise Unwritable("a * in the program's name may be any program")
            head, note = known, f"only {known} itself, not every program that begins so"
        if "/" in head and not head.startswith("/"):
            if one.folder is None:
                raise Unwritable("a relative path is another program in each folder")
            note = f"only the program in {one.folder}"
            head = f"{one.folder}/{head.removeprefix('./')}"
        if "/" in head and complaint(head, self._home) is not None:
            raise Unwritable("no program is ever found under such a path")
        if not set(head) <= _NAME | {"/"}:
            raise Unwritable("no rule can name such a program")
        return head, note


def _allows(one: Statement) -> bool:
    return isinstance(one, Rule) and one.decide is Decision.ALLOW


def _is_name(word: str) -> bool:
    return set(word) <= _NAME | {"/"}


def _reason(one: Rule | FileRule | Everything) -> str:
    own = one.reason if isinstance(one, Rule) else None
    return (own or f"from {one.place.file}, {one.place.where}")[:300]


def _by_profile(program: str) -> str:
    name = program.rpartition("/")[2]
    return (
        f"{name} can run other programs, so arguments that are not known to be harmless are asked "
        "about; --trust-source allows them"
    )


def _with_inline(note: str | None, names: frozenset[str], arguments: Sequence[str]) -> str | None:
    """Add what needs an answer although the source allows it: code among further arguments."""
    known = inline_of(names)
    if known is None or (known.ends_at_script(arguments) and _is_name(arguments[0])):
        return note
    if known.options:
        listed = " ".join(dict.fromkeys(option for _, option in known.options))
        why = f"arguments that carry code ({listed}) are asked about each time"
    else:
        given = tuple(word.replace(STAR, "x").replace(INNER, "x") for word in arguments)
        if not any(known.problem((*given, *more)) for more in _CODE):
            return note
        why = "arguments that carry code are asked about each time"
    return why if note is None else f"{note}; {why}"


def _check_listable(names: frozenset[str], *, bare: bool) -> None:
    if wrapper_kind(names, 0 if bare else 1):
        raise Unwritable("it is a wrapper, shell or builtin; what it runs is judged instead")


def _check_counts(entry: Promise) -> None:
    why = never_counts(entry.pattern, entry.argv or None)
    if why is not None:
        raise Unwritable(why)


def _overlap(one: Rule, other: Rule) -> bool:
    """Return whether two rules may match the same command."""
    for mine, theirs in zip(one.words, other.words, strict=False):
        if any(mark in word for word in (mine, theirs) for mark in (STAR, INNER)):
            return True
        if mine != theirs and mine.rpartition("/")[2] != theirs.rpartition("/")[2]:
            return False
    longer = len(one.words) - len(other.words)
    return longer == 0 or (longer > 0 and other.prefix) or (longer < 0 and one.prefix)
