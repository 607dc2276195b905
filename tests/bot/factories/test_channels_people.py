"""Turn the configuration's lists into who may answer and who may send commands."""

from pathlib import Path

from bot.factories.channels import approvers, senders
from bot.settings import load

CONFIG = """{
  channels: {webhook: {
    url: "https://sayso.example/in", secret: "ssssssssssssssssssssssssssssssss",
    listen: "127.0.0.1:1", approvers: ["42"], senders: ["43"],
  }},
  approvals: {exec: {approvers: ["webhook:44"], quorum: 2}},
  agents: {list: [
    {id: "none", approvers: []},
    {id: "own", approvers: ["webhook:45"], quorum: 1},
    {id: "other", quorum: 3},
    {id: "plain"},
  ]},
}
"""


def test_whom_the_lists_name(tmp_path: Path) -> None:
    """An agent's list counts even if it is empty; one that gives none has the general ones."""
    tmp_path.chmod(0o700)
    file = tmp_path / "config.json5"
    file.write_text(CONFIG)
    file.chmod(0o600)
    settings = load(tmp_path, environ={})
    found = approvers(settings)

    assert found.by_channel["webhook"] == {"42"}
    assert found.everywhere == {"webhook:44"}
    assert found.by_agent == {"none": frozenset(), "own": {"webhook:45"}}
    assert (found.quorum, found.quorum_by_agent) == (2, {"own": 1, "other": 3})
    assert senders(settings).by_channel["webhook"] == {"43"}
