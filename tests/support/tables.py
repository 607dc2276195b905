"""Run a table as one test: a row that fails is reported as a subtest, by its own values."""

import inspect
from collections.abc import Callable, Iterable, Iterator
from functools import wraps

import pytest

Test = Callable[..., None]
_FAILURES = (Exception, pytest.fail.Exception)


def rows(names: str, table: Iterable[object]) -> Callable[[Test], Test]:
    """Return a decorator that calls a test with each row of a table in turn.

    It takes what ``pytest.mark.parametrize`` takes: names with commas between them, and rows. To
    collect, to set up and to report a test each takes longer than most rows do. The rows share
    the fixtures of the test, and a row that passes is not reported.

    Raises:
        ValueError: the table is empty, or a row has more or fewer values than there are names.
    """
    keys = [name.strip() for name in names.split(",")]
    known = list(_named(keys, table))
    if not known:
        raise ValueError(f"the table of {names} has no rows")

    def decorate(test: Test) -> Test:
        @wraps(test)
        def run(subtests: pytest.Subtests, **fixtures: object) -> None:
            for row in known:
                try:
                    test(**row, **fixtures)
                except _FAILURES:
                    with subtests.test(None, **row):
                        raise

        own = [one for name, one in inspect.signature(test).parameters.items() if name not in keys]
        run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [*own, inspect.Parameter("subtests", inspect.Parameter.KEYWORD_ONLY)]
        )
        return run

    return decorate


def _named(keys: list[str], table: Iterable[object]) -> Iterator[dict[str, object]]:
    for row in table:
        values = (row,) if len(keys) == 1 else tuple(row)  # type: ignore[arg-type]
        yield dict(zip(keys, values, strict=True))
