"""List the lines that the execution oracle tries, and those that run the project's code."""

import re
from collections.abc import Iterator
from typing import Final

from core.programs.carriers import profiled
from core.programs.profiles.tables import section, table
from core.settings.rules import RuleSection

BY_DESIGN: Final = {
    "npm (?:test|start).*|npm run .+": "the project's scripts",
    "npm ci": "the scripts of what the project's lock pins",
    "npx .+|yarn (?:test|lint|build)|pnpm .+": "the project's tools and scripts",
    "pytest.*|python3? -m pytest.*|node --test.*": "the project's tests",
    "uv (?:sync|run|pip) .*|uv sync": "the project's environment and its Python",
    "mypy.*|flake8 .*|isort .*|black .*": "plug-ins that the project's configuration names",
    "ruff (?:check --fix|format) .*|ruff check.*": "changes or caches what it checks",
    "make.*": "the project's makefile",
    "cargo (?:build|check|clippy|test|fmt|tree).*": "build scripts, and the project's compiler",
    "go (?:build|test|vet|fmt|list|mod) .*": "the project's tests, and what its modules need",
    "terraform validate": "the providers that the project installed",
    "docker compose .*": "what the project's compose file says",
    "mkdir .*|touch .*|cp .*|mv .*": "writes what its line names",
    "curl .*": "connects to what its line names",
    "git .*": "tests/faults holds an oracle of its own for git",
    "npm (?:outdated|audit)|npm view .*": "asks the registry that the user configured",
}
"""Lines of the example policy that are excluded, by pattern, with the reason."""

CONNECTS: Final = re.compile(r"npm (?:outdated|audit)|npm view .*")
"""Of these, the ones that may connect, but only where the user's own configuration says."""

_TEMPLATES: Final = {
    "<PATH:project>": "src",
    "<NAME>": "web",
    "<ANY>": "x",
    "<URL_PATH>": "/",
}
_MORE: Final = {
    "npm": ("ls -a", "ls --json --long", "root -g", "config list", "run", "-v", "list --omit dev"),
    "cargo": ("--list", "-vV", "version", "locate-project --workspace"),
    "rustc": ("-vV", "--version --verbose", "--help"),
    "go": ("env GOVERSION", "env GOMOD GOWORK", "help mod"),
    "python3": ("-VV", "--help"),
    "pip": ("check", "show pip", "list -l"),
    "man": ("-w -a ls", "-w 1 ls"),
    "terraform": ("-version", "--version", "fmt -check -diff"),
    "corepack": ("--version",),
    "yarn": ("--version",),
    "pnpm": ("--version",),
    "poetry": ("--version",),
}


def lines_of(program: str) -> tuple[str, ...]:
    """Return the lines that are tried of one program: what its profile names, and more."""
    name = {"python3": "python", "pip3": "pip", "fdfind": "fd"}.get(program, program)
    family = profiled().get(name)
    row = section(table(f"carriers/{family}"), name) if family else {}
    named = [
        words
        for key in ("accept", "exact")
        for words in _texts(row.get(key))
        if not set(words) & set("|()$;\\{}*~")
    ]
    found = (f"{program} {words}".strip() for words in (*named, *_MORE.get(program, ())))
    return tuple(dict.fromkeys(found))


def lines_of_rules(rules: tuple[RuleSection, ...]) -> Iterator[str]:
    """Yield the vectors that rules allow, with templates filled in."""
    for rule in rules:
        if rule.decide == "allow" and rule.match.argv is not None:
            words = [*rule.match.argv]
            for template, value in _TEMPLATES.items():
                words = [word.replace(template, value) for word in words]
            yield " ".join(words)


def by_design(line: str) -> bool:
    """Return whether a line runs the project's code, or writes or connects, because it says so."""
    return any(re.fullmatch(pattern, line) for pattern in BY_DESIGN)


def _texts(found: object) -> Iterator[str]:
    if isinstance(found, list):
        yield from (one for one in found if isinstance(one, str))
