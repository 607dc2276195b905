"""Write a node's service for macOS and Windows, to be installed there by hand.

They are printed, never installed: Sayso runs on Linux, and a node for another system is written
from docs/reference/nodes.md. It is started like ``sayso node run``.
"""

import plistlib
from dataclasses import dataclass
from pathlib import PurePath
from xml.etree import ElementTree as ET

LABEL = "sayso.node"
_PAUSE_S = 10
_OWNER_ONLY = 0o077
_STOP_S = 30
_ABOUT = "Runs what a Sayso gateway orders and this machine allows"


@dataclass(frozen=True, slots=True)
class NodeService:
    """What is run, and where its home is; ``home`` is ``None`` for the default."""

    program: PurePath
    home: PurePath | None

    def launchd(self) -> str:
        """Return a property list for ~/Library/LaunchAgents (launchd.plist(5))."""
        job: dict[str, object] = {
            "Label": LABEL,
            "ProgramArguments": [str(self.program), "node", "run"],
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
            "ThrottleInterval": _PAUSE_S,
            "ExitTimeOut": _STOP_S,
            "ProcessType": "Background",
            "Umask": _OWNER_ONLY,
        }
        if self.home is not None:
            job["EnvironmentVariables"] = {"SAYSO_HOME": str(self.home)}
        return plistlib.dumps(job, sort_keys=False).decode()

    def windows(self) -> str:
        """Return a service definition as WinSW reads it (winsw.xml)."""
        service = ET.Element("service")
        parts = {
            "id": LABEL,
            "name": "Sayso node",
            "description": _ABOUT,
            "executable": str(self.program),
            "arguments": "node run",
            "startmode": "Automatic",
            "stoptimeout": f"{_STOP_S} sec",
        }
        for name, words in parts.items():
            ET.SubElement(service, name).text = words
        if self.home is not None:
            ET.SubElement(service, "env", name="SAYSO_HOME", value=str(self.home))
        ET.SubElement(service, "onfailure", action="restart", delay=f"{_PAUSE_S} sec")
        ET.SubElement(service, "log", mode="roll")
        ET.indent(service)
        return ET.tostring(service, encoding="unicode", xml_declaration=True) + "\n"
