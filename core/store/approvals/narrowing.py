r"""Narrow a search of the history in the database, so that few rows are read needlessly.

Each condition keeps all that a search may want and leaves out most of the rest; what a row shows is
checked afterwards. Rows whose text is shown with escapes are always kept.
"""

from dataclasses import dataclass

from sqlalchemy import Boolean, ColumnElement, Table, func, or_
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from core.store.schema.tables import approvals, decisions, runs

_ESCAPES = ("\\u{", "[secret:", " " * 17)
"""What is shown with escapes, besides what is not printable ASCII; see ``core.text.escape``."""
_MARKS = frozenset("[]")


class _NonAscii(FunctionElement[bool]):
    """Whether a text has a character that is not printable ASCII."""

    inherit_cache = True
    type = Boolean()


@compiles(_NonAscii)
def _odd(element: _NonAscii, compiler: SQLCompiler, **more: object) -> str:
    return f"{compiler.process(element.clauses, **more)} ~ '[^ -~]'"


@compiles(_NonAscii, "sqlite")
def _odd_on_sqlite(element: _NonAscii, compiler: SQLCompiler, **more: object) -> str:
    return f"{compiler.process(element.clauses, **more)} GLOB '*[^ -~]*'"


@dataclass(frozen=True, slots=True)
class Narrowing:
    """What a search is for; ``words`` are in the command, ``by`` is who decided."""

    state: str | None = None
    session: str | None = None
    by: str | None = None
    words: str | None = None

    def conditions(self, table: Table) -> tuple[ColumnElement[bool], ...]:
        """Return the conditions on the rows of a table, ``approvals`` or ``runs``."""
        found = [self._text(table), self._state(table), self._decider(table)]
        if self.session is not None:
            found.append(table.c.session == self.session)
        return tuple(one for one in found if one is not None)

    def _text(self, table: Table) -> ColumnElement[bool] | None:
        """Return ``None`` for words that may be those of a mask, which no row holds."""
        folded = None if self.words is None else self.words.casefold()
        if folded is None or _MARKS & set(folded):
            return None
        holds = table.c.text.icontains(folded, autoescape=True)
        escaped = (table.c.text.contains(one, autoescape=True) for one in _ESCAPES)
        return or_(holds, _NonAscii(table.c.text), *escaped)

    def _state(self, table: Table) -> ColumnElement[bool] | None:
        if self.state is None:
            return None
        if table is runs:
            return runs.c.state == self.state
        return func.coalesce(runs.c.state, approvals.c.state) == self.state

    def _decider(self, table: Table) -> ColumnElement[bool] | None:
        """Return a condition that leaves alone names outside ASCII, which fold in other ways."""
        if self.by is None:
            return None
        if table is runs:
            return runs.c.id.is_(None)  # nobody decided what nobody was asked
        account, name = decisions.c.account, decisions.c.name
        folded = self.by.casefold()
        same = [func.lower(column) == folded for column in (account, name)]
        odd = [_NonAscii(column) for column in (account, name)]
        ref = decisions.c.channel.concat(":").concat(account) == self.by
        return or_(*same, ref, *odd)
