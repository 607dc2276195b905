"""Make a database as the first revision of the schema made it."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

_FOLDER = Path(__file__).parents[1] / "core" / "store" / "schema"


def baseline(engine: str) -> list[str]:
    """Return the statements that make a database of the first revision."""
    written = (_FOLDER / f"baseline_{engine}.sql").read_text()
    return [one for one in re.split(r";\n", written) if one.strip()]


def make_baseline(path: Path) -> None:
    """Create a database of the first revision in which one request key is bound."""
    with closing(sqlite3.connect(path)) as db, db:
        for statement in baseline("sqlite"):
            db.execute(statement)
        db.execute("INSERT INTO requests (request_key, run_id, wish) VALUES ('k', 'one', 'asked')")
