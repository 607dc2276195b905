"""Run a node whose ledger forgets its orders: the judge of the cuts must notice."""

import sys

from bot.cli import main
from core.model.identity import ApprovalId
from core.nodes.frames import Ended, NotRun
from core.nodes.ledger import Ledger


class Forgetful(Ledger):
    """A ledger that knows no run and never delivers an ending again."""

    def knows(self, run_id: ApprovalId) -> bool:
        """Know nothing."""
        del run_id
        return False

    def ending(self, run_id: ApprovalId) -> Ended | NotRun | None:
        """Know nothing."""
        del run_id
        return None

    def pending(self) -> tuple[Ended | NotRun, ...]:
        """Never deliver again."""
        return ()


if __name__ == "__main__":
    for name in ("knows", "ending", "pending"):
        setattr(Ledger, name, getattr(Forgetful, name))
    sys.exit(main())
