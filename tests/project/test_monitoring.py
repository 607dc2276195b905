"""Check the alert rules and the dashboard: each metric, label and value is one of a gateway's."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from core.model.decision import Decision, DenialReason
from tests.docs.blocks import blocks
from tests.project.tracked import ROOT
from tests.support.api_gateway import api_gateway
from tests.support.waiting import wait_until

FOLDER = ROOT / "docs" / "examples" / "monitoring"
PAGE = ROOT / "docs" / "how-to" / "monitoring.md"
_SELECTOR = re.compile(r"\b(sayso_\w+|process_\w+|up)\b(?:\{([^}]*)\})?")
_MATCHER = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"')
_OF_PROMETHEUS = {"job", "instance", "le"}
_VALUES = {
    "decision": {decision.word for decision in Decision},
    "outcome": {reason.value for reason in DenialReason} | {"finished"},
}
"""Closed lists whose members need not have happened yet."""


@dataclass(frozen=True)
class Scraped:
    """The series of a scrape: each name with the values of each of its labels."""

    series: dict[str, dict[str, set[str]]]

    @classmethod
    def of(cls, text: str) -> "Scraped":
        """Read what a gateway shows; ``up`` is Prometheus' own."""
        found: dict[str, dict[str, set[str]]] = {"up": {}}
        for line in text.splitlines():
            match = re.match(r"(\w+)(?:\{(.*)\})? \S+$", line)
            if match is not None:
                labels = found.setdefault(match[1], {})
                for name, value in re.findall(r'(\w+)="([^"]*)"', match[2] or ""):
                    labels.setdefault(name, set()).add(value)
        return cls(found)

    def mistakes(self, query: str, *shown: str) -> Iterator[str]:
        """Yield names that a query and the texts showing its result use and that do not exist."""
        known = set(_OF_PROMETHEUS)
        for name, matchers in _SELECTOR.findall(re.sub(r'"[^"]*"', _hidden, query)):
            labels = self.series.get(name)
            if labels is None:
                yield f"no metric {name}"
                continue
            known |= labels.keys()
            yield from self._matchers(name, labels, _shown(matchers))
        grouped = {word for by in re.findall(r"by \(([^)]*)\)", query) for word in by.split(", ")}
        words = {word for text in shown for word in re.findall(r"\$labels\.(\w+)", text)}
        legends = {word for text in shown for word in re.findall(r"\{\{(\w+)\}\}", text)}
        for label in sorted((grouped | words | legends) - known):
            yield f"no label {label}"

    def _matchers(self, name: str, labels: dict[str, set[str]], matchers: str) -> Iterator[str]:
        for label, how, value in _MATCHER.findall(matchers):
            if label not in labels and label not in _OF_PROMETHEUS:
                yield f"{name} has no label {label}"
            known = labels.get(label, {value}) | _VALUES.get(label, set())
            if how == "=" and value not in known:
                yield f"{name} has no {label} {value}"


def _hidden(text: re.Match[str]) -> str:
    """Write a quoted value so that no word of it is taken for a metric."""
    return '"' + text[0][1:-1].encode().hex() + '"'


def _shown(matchers: str) -> str:
    return re.sub(r'"([^"]*)"', lambda text: f'"{bytes.fromhex(text[1]).decode()}"', matchers)


@pytest.fixture(scope="module")
def scraped(tmp_path_factory: pytest.TempPathFactory) -> Scraped:
    """Return what a gateway shows after some traffic, and what verifying its journal prints."""
    home = tmp_path_factory.mktemp("monitoring") / "home"
    with api_gateway(home) as running:
        reader = running.client("reader")
        wait_until("proofs", lambda: "sayso_gate_proof_held{" in reader.get("/metrics").text)
        running.ask("true", wait=5)
        running.ask("true", security="deny")
        asked = running.ask("uname")
        path = f"/v1/approvals/{asked['id']}/resolve"
        running.client("person").post(path, json={"decision": "deny"})
        text = reader.get("/metrics").text
        verified = _verified(home)
    return Scraped.of(text + verified)


def _verified(home: Path) -> str:
    """Run the script of the timer, with `sayso` on PATH."""
    program = home.parent / "sayso"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m bot "$@"\n')
    program.chmod(0o755)
    environ = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        [FOLDER / "verify-journal.sh"],
        cwd=ROOT,
        env={**environ, "SAYSO_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=50,
        check=True,
    )
    return done.stdout


def rules() -> list[dict[str, Any]]:
    """Return the alert rules."""
    groups = yaml.safe_load((FOLDER / "alerts.yml").read_text(encoding="utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def panels() -> list[dict[str, Any]]:
    """Return the panels of the dashboard."""
    dashboard = json.loads((FOLDER / "grafana.json").read_text(encoding="utf-8"))
    found: list[dict[str, Any]] = dashboard["panels"]
    return found


def test_every_rule_is_about_what_a_gateway_shows(scraped: Scraped) -> None:
    """Its metrics, labels and values exist; it says what happened and what to do next."""
    assert len(rules()) > 10
    for rule in rules():
        texts = rule["annotations"]
        assert texts.keys() == {"summary", "action"}, rule["alert"]
        assert rule["labels"]["severity"] in {"page", "ticket"}, rule["alert"]
        mistakes = list(scraped.mistakes(rule["expr"], *texts.values()))
        assert mistakes == [], rule["alert"]


def test_every_panel_is_about_what_a_gateway_shows(scraped: Scraped) -> None:
    """Each query, and each label of its legend."""
    found = {
        str(panel["title"]): [
            mistake
            for target in panel["targets"]
            for mistake in scraped.mistakes(target["expr"], target["legendFormat"])
        ]
        for panel in panels()
    }

    assert len(found) == len(panels()) > 10
    assert {title: mistakes for title, mistakes in found.items() if mistakes} == {}


def test_no_two_panels_lie_on_one_another() -> None:
    """Each has its own place on a grid of 24 columns."""
    taken: set[tuple[int, int]] = set()
    for panel in panels():
        at = panel["gridPos"]
        place = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not place & taken, panel["title"]
        assert at["x"] + at["w"] <= 24, panel["title"]
        taken |= place


@pytest.mark.parametrize(
    ("query", "mistake"),
    [
        ("sayso_lokdown == 1", "no metric sayso_lokdown"),
        ("rate(sayso_runs[5m])", "no metric sayso_runs"),
        ('sayso_part_ok{prat="store"}', "sayso_part_ok has no label prat"),
        ('sayso_part_ok{part="sotre"}', "sayso_part_ok has no part sotre"),
        ('sayso_runs_total{outcome="timeout"}', "sayso_runs_total has no outcome timeout"),
        ("sum by (dicision) (sayso_decisions_total)", "no label dicision"),
    ],
)
def test_a_misspelt_name_is_found(query: str, mistake: str, scraped: Scraped) -> None:
    """The search finds what it looks for."""
    assert list(scraped.mistakes(query)) == [mistake]


def test_a_misspelt_legend_is_found(scraped: Scraped) -> None:
    """In a dashboard and in the text of a rule."""
    assert list(scraped.mistakes("sayso_part_ok", "{{prat}}")) == ["no label prat"]
    assert list(scraped.mistakes("up", "{{ $labels.prat }}")) == ["no label prat"]


def promtool(*words: str, folder: Path = FOLDER) -> subprocess.CompletedProcess[str]:
    """Run Prometheus' own checker."""
    program = shutil.which("promtool")
    assert program is not None, "promtool is missing; tests/system_packages.sh installs it"
    return subprocess.run(
        [program, *words], cwd=folder, capture_output=True, text=True, timeout=50, check=False
    )


def test_the_rules_fire_and_are_silent_in_peace() -> None:
    """As Prometheus evaluates them over three hours of each; every rule is in the test."""
    checked = promtool("check", "rules", "alerts.yml")
    tested = promtool("test", "rules", "alerts_test.yml")
    text = (FOLDER / "alerts_test.yml").read_text(encoding="utf-8")

    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert tested.returncode == 0, tested.stdout + tested.stderr
    assert [rule["alert"] for rule in rules() if f'"{rule["alert"]}"' not in text] == []


def scraping(folder: Path) -> str:
    """Return monitoring.md's configuration of Prometheus, with its files below a folder."""
    (block,) = (one for one in blocks(PAGE) if one.language == "yaml")
    text = block.text.replace("/etc/prometheus", str(folder))
    return text.replace("sayso/alerts.yml", str(FOLDER / "alerts.yml"))


def test_the_pages_configuration_is_prometheus(tmp_path: Path) -> None:
    """Its own checker reads it, with the rules and the token that it names."""
    (tmp_path / "sayso-token").write_text("sayso_x")
    path = tmp_path / "prometheus.yml"
    path.write_text(scraping(tmp_path))
    checked = promtool("check", "config", str(path))

    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert f"{len(rules())} rules found" in checked.stdout
    path.write_text(scraping(tmp_path).replace("credentials_file", "credential_file"))
    assert promtool("check", "config", str(path)).returncode != 0, "a wrong key is seen"


def test_a_rule_that_does_not_fire_is_seen(tmp_path: Path) -> None:
    """The control: with another threshold Prometheus' checker fails."""
    shutil.copytree(FOLDER, tmp_path, dirs_exist_ok=True)
    path = tmp_path / "alerts.yml"
    path.write_text(path.read_text().replace("sayso_lockdown == 1", "sayso_lockdown == 2"))

    assert promtool("test", "rules", "alerts_test.yml", folder=tmp_path).returncode != 0
