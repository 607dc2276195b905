"""Say how one check of an installation ended."""

from dataclasses import asdict, dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """How a check ended."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: its subject, how it ended, and what to do where it did not end well."""

    verdict: Verdict
    subject: str
    detail: str

    def as_json(self) -> dict[str, str]:
        """Return the finding as a flat object."""
        return {key: str(value) for key, value in asdict(self).items()}
