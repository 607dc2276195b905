"""Define a node's service elsewhere: what launchd and WinSW read, whatever is in a path."""

import plistlib
from pathlib import PurePosixPath, PureWindowsPath
from xml.etree import ElementTree as ET

import pytest

from bot.service.other_systems import LABEL, NodeService


@pytest.mark.parametrize("home", [None, "/Users/a b/<&>\"'/ä"])
def test_launchd_reads_it(home: str | None) -> None:
    """The property list parses and names program, arguments and home."""
    place = None if home is None else PurePosixPath(home)
    job = plistlib.loads(NodeService(PurePosixPath("/opt/s o/sayso"), place).launchd().encode())
    assert job["Label"] == LABEL
    assert job["ProgramArguments"] == ["/opt/s o/sayso", "node", "run"]
    assert job["KeepAlive"] == {"SuccessfulExit": False}
    assert (job["RunAtLoad"], job["Umask"]) == (True, 0o077)
    assert job.get("EnvironmentVariables") == (None if home is None else {"SAYSO_HOME": home})


@pytest.mark.parametrize("home", [None, "C:\\Users\\a & b\\<ä>"])
def test_windows_definition_is_well_formed(home: str | None) -> None:
    """The XML parses; program, arguments and home are unchanged."""
    place = None if home is None else PureWindowsPath(home)
    text = NodeService(PureWindowsPath("C:\\Program Files\\sayso.exe"), place).windows()
    root = ET.fromstring(text)  # noqa: S314 - our own text
    assert root.tag == "service"
    found = {child.tag: child for child in root}
    assert found["id"].text == LABEL
    assert found["executable"].text == "C:\\Program Files\\sayso.exe"
    assert found["arguments"].text == "node run"
    assert found["onfailure"].attrib["action"] == "restart"
    wanted = None if home is None else {"name": "SAYSO_HOME", "value": home}
    assert (found["env"].attrib if "env" in found else None) == wanted
