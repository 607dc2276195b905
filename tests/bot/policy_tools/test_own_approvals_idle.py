"""Start an idle entry over only where it cannot be taken for another one."""

import json
from pathlib import Path

import pytest

from bot.policy_tools.own_approvals import OwnApprovals
from core.errors import BadRequest
from core.model.approval import AllowlistEntry

MAKE, GIT = "/usr/bin/make", "/usr/bin/git"


@pytest.mark.parametrize(
    ("entry", "distinct"),
    [
        (AllowlistEntry(GIT), True),
        (AllowlistEntry(MAKE), False),
        (AllowlistEntry(MAKE, argv=("make", "x")), False),
        (AllowlistEntry(MAKE, "0entry"), True),
    ],
)
def test_an_entry_without_an_id_shares_its_pattern_with_no_other(
    tmp_path: Path, entry: AllowlistEntry, *, distinct: bool
) -> None:
    """It is removed by its pattern, and another one would go with it."""
    listed = [{"pattern": GIT}, {"pattern": MAKE}, {"pattern": MAKE, "argv": ["make", "x"]}]
    file = tmp_path / "exec-approvals.json"
    file.write_text(json.dumps({"version": 1, "agents": {"main": {"allowlist": listed}}}))
    file.chmod(0o600)
    tmp_path.chmod(0o700)
    own = OwnApprovals({"SAYSO_HOME": str(tmp_path)})

    if distinct:
        own._must_be_distinct("main", entry)
    else:
        with pytest.raises(BadRequest, match=r"is listed but idle, has no id and shares"):
            own._must_be_distinct("main", entry)
