"""Fill the disk or make the home unwritable: the file stays as it was, and the error says so."""

import json
import os
import subprocess
import sys
from pathlib import Path

import core

ROOT = Path(core.__file__).parents[1]
SCRIPT = """
import json, sys
from pathlib import Path
from core.approvals.file.file import ApprovalsFile
from core.errors import StateError
from core.model.identity import AgentId

path = Path(sys.argv[1])
file = ApprovalsFile(path)
kept = [file.add("main", f"/opt/{number}").pattern for number in range(5)]
ballast = path.with_name("ballast")
with ballast.open("wb", buffering=0) as full:
    try:
        while True:
            full.write(bytes(4096))
    except OSError:
        pass
errors = []
for change in (lambda: file.add("main", "/opt/x"), lambda: file.replace('{"version": 1}')):
    try:
        change()
    except StateError as error:
        errors.append(str(error))
reader = ApprovalsFile(path)
after = [entry.pattern for entry in reader.entries(AgentId("main"))]
names = sorted(entry.name for entry in path.parent.iterdir())
ballast.unlink()
file.add("main", "/opt/x")
print(json.dumps({"errors": errors, "same": after == kept, "names": names,
                  "now": len(reader.entries(AgentId("main")))}))
"""


def test_a_full_disk_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    """Neither ``add`` nor ``replace`` loses an entry or leaves a draft; later they work again."""
    rights = [] if os.getuid() == 0 else ["--user", "--map-root-user"]
    mount = 'mount -t tmpfs -o size=128k none "$1" && exec "$2" -c "$3" "$1/exec-approvals.json"'
    command = ["unshare", *rights, "--mount", "sh", "-c", mount, "sh"]
    done = subprocess.run(
        [*command, str(tmp_path), sys.executable, SCRIPT],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert len(result["errors"]) == 2
    assert all("No space left" in error for error in result["errors"])
    assert result["same"]
    assert result["now"] == 6
    assert result["names"] == [
        "ballast",
        "exec-approvals.json",
        "exec-approvals.json.last-good",
        "exec-approvals.lock",
    ]
