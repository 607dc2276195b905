"""Shape ``store`` and ``audit``: where things are kept."""

from pydantic import Field, SecretStr

from core.settings.base import Days, Section, Word

DEFAULT_RETENTION_DAYS = 30


class StoreSection(Section):
    """``store``: where approvals, runs and events are kept."""

    url: SecretStr | None = Field(
        default=None,
        description="a sqlite: or postgresql: URL, as a secret; null: state.db in $SAYSO_HOME",
    )
    retention_days: Days = Field(
        default=DEFAULT_RETENTION_DAYS,
        description="days that decided approvals, ended runs and read events are kept",
    )


class AuditSection(Section):
    """``audit``: the hash-chained journal."""

    path: Word | None = Field(
        default=None, description="the journal's file; null: audit.jsonl in $SAYSO_HOME"
    )
