"""Decide about a line as four products would, written from their documentation alone.

No code is shared with the importers. An oracle answers ``allow`` only if the documentation says
that the product lets the line run without asking because of a rule; everything else is ``ask`` or
``deny``. What a product lets run without any rule is ``free``.

Three things count as the same by decision (docs/how-to/import-rules.md): a program named by its
whole path in a system folder is the program of that name, `timeout 5 X` and `nohup X` are X, and
`cd` before a command is not one of its own.
"""

import re
import shlex
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

_ORDER = ("allow", "ask", "deny")
_SYSTEM = ("/usr/bin/", "/bin/")


def strictest(decisions: Sequence[str]) -> str:
    """Return the strictest of some decisions."""
    return max(decisions, key=_ORDER.index)


def commands(line: str) -> list[str]:
    """Split a line at shell operators, quotes respected."""
    found, quote, start, place = [], "", 0, 0
    while place < len(line):
        mark = line[place]
        if mark == "\\" and quote != "'":
            place += 2
            continue
        if quote:
            quote = "" if mark == quote else quote
        elif mark in "'\"":
            quote = mark
        elif mark in ";|&\n" and not line[:place].endswith(">"):
            found.append(line[start:place])
            start = place + 1
        place += 1
    return [text.strip() for text in (*found, line[start:]) if text.strip()]


def more_than_words(command: str) -> bool:
    """Return whether a command contains what its product judges in its own ways: not allowed."""
    bare = re.sub(r"'[^']*'|\{\}", "", command)  # `{}` is a word like any other
    return bool(re.search(r"[<>`$(){}]|(?:^|\s)\w+=\S*\s", bare))


def spelled(command: str) -> str:
    """Return a command without its wrapper, a program of the system by its name alone."""
    command = re.sub(r"^(?:timeout \d+|nohup) (?=\S)", "", command)
    for folder in _SYSTEM:
        if command.startswith(folder):
            return command.removeprefix(folder)
    return command


def filters(line: str, programs: frozenset[str]) -> bool:
    """Return whether each command of a line is one of some programs that need no rule."""
    parts = [part for part in commands(line) if not part.startswith("cd ")]
    plain = all(spelled(part).split()[0] in programs for part in parts)
    return plain and not any(map(more_than_words, parts))


def leaves(folder: str | None, line: str, cwd: str) -> bool:
    """Return whether a line starts outside a project, or goes there: its rules do not apply."""
    if folder is None:
        return False
    places = [cwd, *(part.removeprefix("cd ") for part in commands(line) if part[:3] == "cd ")]
    return not all(PurePosixPath(cwd, place).is_relative_to(folder) for place in places)


# Claude Code


@dataclass(frozen=True)
class Claude:
    """Settings of Claude Code: the lists of a user's file and those of a project's."""

    allow: Sequence[str] = ()
    ask: Sequence[str] = ()
    deny: Sequence[str] = ()
    folder: str | None = None
    home: str = "/home/alice"

    def decide(self, line: str, cwd: str) -> str:
        """Return what happens to a line in a session that was started in a folder."""
        if leaves(self.folder, line, cwd):
            return "ask"
        parts = [part for part in commands(line) if not part.startswith("cd ")]
        return strictest([self._one(part, cwd) for part in parts]) if parts else "ask"

    def free(self, line: str) -> bool:
        """Return whether the line needs no rule: four filters of its read-only commands."""
        return filters(line, frozenset(("grep", "head", "tail", "wc")))

    def _one(self, command: str, cwd: str) -> str:
        forms = {command, spelled(command)}
        for word, rules in (("deny", self.deny), ("ask", self.ask)):
            if any(self._about(rule, form, cwd) for rule in rules for form in forms):
                return word
        if re.match(r"find\b.*\s-(?:exec|execdir|ok|okdir|delete)\b", spelled(command)):
            return "ask"
        if more_than_words(command):
            return "ask"
        allowed = any(self._about(rule, form, cwd) for rule in self.allow for form in forms)
        return "allow" if allowed else "ask"

    def _about(self, rule: str, command: str, cwd: str) -> bool:
        tool, _, rest = rule.partition("(")
        inside = rest.removesuffix(")")
        if tool in {"Read", "Edit"}:
            return self._names(inside, command, cwd)
        if tool != "Bash":
            return False
        return re.fullmatch(_claude_pattern(inside), command, re.DOTALL) is not None

    def _names(self, pattern: str, command: str, cwd: str) -> bool:
        try:
            words = shlex.split(spelled(command))
        except ValueError:
            return False
        if not words or words[0] not in {"cat", "head", "tail", "sed", "grep", "less", "wc"}:
            return False
        base = self.folder or cwd
        if pattern.startswith("//"):
            base, pattern = "", pattern[2:]
        elif pattern.startswith("~/"):
            base, pattern = self.home, pattern[2:]
        elif pattern.startswith("/"):
            pattern = pattern[1:]
        elif "/" not in pattern.removeprefix("./"):
            pattern = f"**/{pattern.removeprefix('./')}"
        else:
            pattern = pattern.removeprefix("./")
        wanted = _gitignore(f"{base}/{pattern}")
        paths = [str(PurePosixPath(cwd, word)) for word in words[1:]]
        return any(re.fullmatch(wanted, path) for path in paths)


def _claude_pattern(inside: str) -> str:
    if inside in {"", "*", ":*"}:
        return ".*"
    optional = False
    for ending in (":*", " *"):
        if inside.endswith(ending):
            inside, optional = inside[: -len(ending)], True
            break
    return ".*".join(map(re.escape, inside.split("*"))) + ("(?: .*)?" if optional else "")


def _gitignore(pattern: str) -> str:
    out = re.escape(pattern).replace(r"\*\*/", "(?:.*/)?").replace(r"\*\*", ".*")
    return out.replace(r"\*", "[^/]*") + "(?:/.*)?"


class EachCommand(ABC):
    """Rules that decide on each command of a line; ``folder`` is where they may lead."""

    folder: str | None

    def decide(self, line: str, cwd: str) -> str:
        """Return the strictest of what the rules say about each command of a line."""
        if leaves(self.folder, line, cwd):
            return "ask"
        parts = [part for part in commands(line) if not part.startswith("cd ")]
        return strictest([self._one(part) for part in parts]) if parts else "ask"

    def free(self, _line: str) -> bool:
        """Return whether the line needs no rule; nothing is documented."""
        return False

    @abstractmethod
    def _one(self, command: str) -> str:
        """Return what the rules say about one command."""


# Codex


@dataclass(frozen=True)
class Codex(EachCommand):
    """Prefix rules of Codex, each with alternatives in each place, and where names may lead."""

    rules: Sequence[tuple[Sequence[Sequence[str]], str]] = ()
    folder: str | None = None

    def _one(self, command: str) -> str:
        try:
            words = shlex.split(spelled(command))
        except ValueError:
            return "ask"
        said = {"allow": "allow", "prompt": "ask", "forbidden": "deny"}
        found = [
            said[decision]
            for pattern, decision in self.rules
            if len(words) >= len(pattern)
            and all(word in part for word, part in zip(words, pattern, strict=False))
        ]
        if more_than_words(command):
            found.append("ask")
        return strictest(found) if found else "ask"


# Gemini


@dataclass(frozen=True)
class Gemini(EachCommand):
    """Rules of Gemini CLI: prefix, decision and priority; the highest priority decides."""

    rules: Sequence[tuple[str, str, int]] = ()
    core: Sequence[str] | None = None
    folder: str | None = None

    def _one(self, command: str) -> str:
        text = spelled(command)
        if self.core is not None and not any(_begins(text, prefix) for prefix in self.core):
            return "deny"
        matching = [
            (priority, {"allow": "allow", "ask_user": "ask", "deny": "deny"}[decision])
            for prefix, decision, priority in self.rules
            if _begins(text, prefix)
        ]
        if not matching:
            return "ask"
        highest = max(priority for priority, _ in matching)
        found = strictest([decision for priority, decision in matching if priority == highest])
        return strictest([found, "ask"]) if more_than_words(command) else found


def _begins(text: str, prefix: str) -> bool:
    return not prefix or text == prefix or text.startswith(f"{prefix} ")


# The reference product


@dataclass(frozen=True)
class OpenClaw:
    """An agent's entries of exec-approvals.json: patterns of paths, with or without arguments."""

    entries: Sequence[Mapping[str, str]]
    find: Callable[[str], str | None]
    home: str
    ask: str = "on-miss"
    security: str = "allowlist"
    seen: list[str] = field(default_factory=list)

    def decide(self, line: str, _cwd: str) -> str:
        """Return what happens to a line; every command of it must be listed."""
        if self.security == "deny":
            return "deny"
        parts = [part for part in commands(line) if not part.startswith("cd ")]
        if self.ask == "always" or not parts:
            return "ask"
        return strictest([self._one(part) for part in parts])

    def free(self, line: str) -> bool:
        """Return whether the line needs no rule: it only filters, by the default safe bins."""
        safe = filters(line, frozenset(("cut", "uniq", "head", "tail", "tr", "wc")))
        return safe and self.ask != "always" and self.security != "deny"

    def _one(self, command: str) -> str:
        try:
            words = shlex.split(spelled(command) if " " in command else command)
        except ValueError:
            return "ask"
        path = words[0] if words[0].startswith("/") else self.find(words[0])
        if path is None or more_than_words(command):
            return "ask"
        arguments = " ".join(words[1:])
        for entry in self.entries:
            pattern = re.sub(r"^~/", f"{self.home}/", entry["pattern"])
            expression = entry.get("argPattern")
            if _path_fits(pattern, path) and (
                expression is None or re.search(expression, arguments)
            ):
                return "allow"
        return "ask"


def _path_fits(pattern: str, path: str) -> bool:
    if "/" not in pattern:
        return False
    out = re.escape(pattern).replace(r"\*\*/", "(?:.*/)?").replace(r"\*\*", ".*")
    out = out.replace(r"\*", "[^/]*").replace(r"\?", "[^/]")
    return re.fullmatch(out, path) is not None
