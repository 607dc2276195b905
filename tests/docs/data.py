"""Check blocks that are data or a program: approvals files, calls, access lists, units."""

import configparser
import json
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import yaml

from bot.client import Client
from core.approvals.file.file import ApprovalsFile
from core.remote.acl.acl import Acl
from tests.docs.shell import User

Json = dict[str, Any]


def json_text(user: User, text: str) -> None:
    """Check JSON, or lines of it: approvals files are loaded, calls made, expectations kept."""
    if "expect" in (found := _objects(text))[0]:
        _expectations(user, text)
        return
    for one in found:
        if "version" in one and "agents" in one:
            _approvals(user, one)
        elif "pattern" in one:
            _approvals(user, {"version": 1, "agents": {"main": {"allowlist": [one]}}})
        elif "method" in one and "id" in one:
            _call(user, one)


def _objects(text: str) -> list[Json]:
    try:
        found = [json.loads(text)]
    except ValueError:
        found = [json.loads(line) for line in text.splitlines() if line.strip()]
    assert found
    assert all(isinstance(one, dict) for one in found)
    return found


def _expectations(user: User, text: str) -> None:
    """Save lines for `sayso policy test` where the page's next command looks for them."""
    (Path(user.do("pwd").strip()) / "expected.jsonl").write_text(f"{text}\n")


def _approvals(user: User, document: Json) -> None:
    """Load an approvals file as the gateway does; it may contain no ignored entry."""
    path = user.home / "read" / "exec-approvals.json"
    path.parent.mkdir(mode=0o700, exist_ok=True)
    text = json.dumps(document, ensure_ascii=False)
    path.write_text(re.sub(r'"([0-9a-f]{16})…"', r'"\1\1\1\1"', text))  # a digest cut short
    path.chmod(0o600)
    assert ApprovalsFile(path).read().lint() == ()
    path.unlink()


def _call(user: User, frame: Json) -> None:
    """Make a call to the page's gateway; if the page has none, the method's name is checked."""
    with Client(str(user.state / "gateway.sock")) as client:
        answer = client.call(frame["method"], frame["params"], timeout=30)
    assert answer.get("ok", True), answer
    assert answer.get("status") != "denied", answer


def toml_text(user: User, text: str) -> None:
    """Check TOML; an access list of remote exec is loaded, and saved for the commands."""
    found = tomllib.loads(text)
    if "exec" in found:
        Acl.parse(text, "the page")
        (user.home / "exec-acl.toml").write_text(text)


def yaml_text(_user: User, text: str) -> None:
    """Check YAML: strictly one document."""
    assert yaml.safe_load(text) is not None


def unit(user: User, text: str) -> None:
    """Check a unit with systemd's own reader, if there is one; its program need not be here."""
    reader = configparser.RawConfigParser(strict=False)
    reader.read_string(text)
    if "Unit" not in reader or shutil.which("systemd-analyze") is None:
        return
    path = user.home / "page.service"
    path.write_text(re.sub(r"^(ExecStart=)\S+", r"\1/bin/true", text, flags=re.MULTILINE))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--user", str(path)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "XDG_RUNTIME_DIR": str(user.home)},
    )
    assert done.returncode == 0, done.stderr
    assert "page.service:" not in done.stderr, done.stderr


def python_text(user: User, text: str) -> None:
    """Execute Python as the user's own program."""
    path = user.home / "page.py"
    path.write_text(text)
    user.do(f"python3 {path}")
