"""Combine file and environment into validated settings, with the origin of each value."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from bot.settings.environment import Overrides, Tree
from bot.settings.home import CONFIG_NAME, check_home, read_config
from bot.settings.json5_file import MAX_CHARACTERS, Document, read_json5
from bot.settings.model import SHAPE, Settings, trees
from bot.settings.origins import Origins
from bot.settings.problems import InvalidConfig, KeyPath, Problem
from bot.settings.resolve import Examination
from bot.settings.rule_errors import rule_problems
from bot.settings.s2_spelling import in_our_spelling
from bot.settings.validation_errors import complaint, path_of
from core.policy.rules.compiled import BadRule, compiled

_MAX_BYTES = 4 * MAX_CHARACTERS
READ_FROM = "; it was read from "
"""Follows what is wrong with a secret, before its file or variable."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The settings, and the location of each value that was set.

    ``is_set``: the file exists and sets something. ``secret_files`` are the files that secrets
    are read from, by their keys.
    """

    settings: Settings
    origins: Origins
    is_set: bool
    secret_files: Mapping[str, Path] = field(default_factory=dict)


def read(home: Path, environ: Mapping[str, str]) -> Reading:
    """Read $SAYSO_HOME/config.json5 and the environment above it; create nothing.

    Raises:
        InvalidConfig: one line for each unknown, duplicate or ill-typed key, or for a rule that is
        malformed or fails one of its examples.
        StateError: the home or the file could be rewritten by somebody else.
    """
    check_home(home)
    document = in_our_spelling(_read_document(home / CONFIG_NAME), SHAPE)
    if not isinstance(document.value, dict):
        raise InvalidConfig([Problem(CONFIG_NAME, (), "must be one object: { … }")])
    overrides = Overrides(SHAPE)
    overrides.read(environ)
    origins = Origins(document.lines, overrides.places)
    file_only = Origins(document.lines, {})
    upper = Examination(SHAPE, home, environ, overrides.place)
    lower = Examination(SHAPE, home, environ, file_only.near)
    sources = (upper.section(overrides.tree, SHAPE), lower.section(document.value, SHAPE))
    found = (*document.problems, *overrides.problems, *upper.problems, *lower.problems)
    settings = _validate(home, sources, origins, [*found], {**lower.sources, **upper.sources})
    files = {**lower.files, **upper.files}
    return Reading(settings, origins, is_set=bool(document.value), secret_files=files)


def _read_document(path: Path) -> Document:
    content = read_config(path, _MAX_BYTES)
    try:
        document = read_json5((content or b"").decode(), path.name)
    except UnicodeDecodeError as error:
        message = f"is not UTF-8 text at byte {error.start}; save it as UTF-8"
        raise InvalidConfig([Problem(path.name, (), message)]) from error
    if any(not problem.path for problem in document.problems):
        raise InvalidConfig(document.problems)  # no syntax, no keys to compare
    return document


def _validate(
    home: Path,
    sources: tuple[Tree, ...],
    origins: Origins,
    problems: list[Problem],
    secrets: Mapping[KeyPath, str],
) -> Settings:
    """Return the settings, or raise all problems at once in the file's order.

    ``secrets`` says where the text of each secret that the configuration refers to comes from.
    """
    made = _construct(home, sources)
    message = {problem.path for problem in problems}
    if isinstance(made, ValidationError):
        problems.extend(
            Problem(origins.near(path), path, _with_source(complaint(error, SHAPE), secrets, path))
            for error in made.errors(include_url=False)
            if (path := path_of(error)) not in message
        )
    elif not problems:
        bad = _bad_rule(made)
        if bad is None:
            return made
        problems = rule_problems(sources, (), origins, _folder())
        problems = problems or [Problem(origins.near(bad.path), bad.path, str(bad))]
        raise InvalidConfig(sorted(problems, key=_order)) from bad
    problems.extend(rule_problems(sources, problems, origins, _folder()))
    raise InvalidConfig(sorted(problems, key=_order))


def _with_source(words: str, secrets: Mapping[KeyPath, str], path: KeyPath) -> str:
    """Add where the text of a secret is: the place of a mistake is only the reference to it."""
    return f"{words}{READ_FROM}{secrets[path]}" if path in secrets else words


def _bad_rule(settings: Settings) -> BadRule | None:
    """Compile the rules once, so that a failing example stops every start."""
    try:
        compiled(settings, _folder())
    except BadRule as error:
        return error
    return None


def _folder() -> str:
    return os.path.expanduser("~")  # noqa: PTH111 - patterns are text


def _construct(home: Path, sources: tuple[Tree, ...]) -> Settings | ValidationError:
    token = trees.set(sources)
    try:
        return Settings(home=home)
    except ValidationError as error:
        return error
    finally:
        trees.reset(token)


def _order(problem: Problem) -> tuple[str, int]:
    name, _, rest = problem.place.partition(":")
    line = rest.partition(":")[0]
    return name, int(line) if line.isdigit() else 0
