import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.product_process import run

ROOT = Path(__file__).parents[4]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a private empty home."""
    tmp_path.chmod(0o700)
    return tmp_path


def sayso(home: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run `sayso` as a separate process in this home."""
    inherited = {name: text for name, text in os.environ.items() if not name.startswith("SAYSO_")}
    return run(
        [sys.executable, "-m", "bot", *words],
        cwd=ROOT,
        env={**inherited, "SAYSO_HOME": str(home), **variables},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


def test_check_passes_a_good_configuration(home: Path) -> None:
    """Exit 0 and the file's name."""
    (home / "config.json5").write_text('{tools: {exec: {ask: "always"}}}')

    done = sayso(home, "config", "check")

    assert (done.returncode, done.stdout) == (0, f"{home}/config.json5: ok\n")


def test_check_says_that_there_is_no_file(home: Path) -> None:
    """No file is fine, but a person who checks wants to know."""
    done = sayso(home, "config", "check")

    assert done.returncode == 0
    assert "no file: defaults are in effect" in done.stdout


def test_check_names_every_mistake_and_exits_2(home: Path) -> None:
    """One line each on standard error, nothing on standard output."""
    (home / "config.json5").write_text('{tools: {exec: {\naks: "always", timeout: "1"}}}')

    done = sayso(home, "config", "check")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [
        "config.json5:2: tools.exec.aks: unknown key; did you mean `ask`?",
        "config.json5:2: tools.exec.timeout: must be a number, not text",
    ]


def test_check_tells_programs_the_same(home: Path) -> None:
    """--json prints one object with place, key and message of each mistake."""
    (home / "config.json5").write_text("{tools: {exec: {aks: 1}}}")

    done = sayso(home, "config", "check", "--json")

    assert (done.returncode, done.stdout) == (2, "")
    assert json.loads(done.stderr)["error"] == {
        "type": "InvalidConfig",
        "message": "config.json5:1: tools.exec.aks: unknown key; did you mean `ask`?",
        "exitCode": 2,
        "problems": [
            {
                "place": "config.json5:1",
                "key": "tools.exec.aks",
                "message": "unknown key; did you mean `ask`?",
            }
        ],
    }
    (home / "config.json5").write_text("{}")
    assert json.loads(sayso(home, "config", "check", "--json").stdout)["ok"] is True


def test_show_prints_values_with_their_source(home: Path) -> None:
    """Default, line of the file, or variable: the place can be found."""
    (home / "config.json5").write_text('{tools: {exec: {\nhost: "gateway"}}}')

    done = sayso(home, "config", "show", "--json", SAYSO_TOOLS__EXEC__ASK="always")

    assert done.returncode == 0
    shown = json.loads(done.stdout)
    assert shown["home"] == str(home)
    rows = shown["settings"]
    assert rows["tools.exec.host"] == {"value": "gateway", "source": "config.json5:2"}
    assert rows["tools.exec.ask"] == {"value": "always", "source": "SAYSO_TOOLS__EXEC__ASK"}
    assert rows["tools.exec.security"] == {"value": "deny", "source": "default"}
    assert rows["tools.exec.timeout"] == {"value": 1800, "source": "default"}


def test_show_prints_a_table_for_people(home: Path) -> None:
    """Each line has the key, the value as the file would have it, and the source."""
    done = sayso(home, "config", "show")

    rows = [line.split() for line in done.stdout.splitlines()]
    assert ["tools.exec.ask", '"on-miss"', "default"] in rows
    assert ["approvals.exec.remind", "true", "default"] in rows


def test_show_masks_every_secret(home: Path) -> None:
    """Neither form prints a secret, wherever it came from."""
    (home / "token").write_text("123456789:hunter2")
    (home / "config.json5").write_text('{channels: {telegram: {token: {file: "token"}}}}')
    variables = {"SAYSO_STORE__URL": "postgresql://u:hunter2@localhost/x"}

    for words in (("config", "show"), ("config", "show", "--json")):
        done = sayso(home, *words, **variables)
        assert done.returncode == 0
        assert "hunter2" not in done.stdout + done.stderr
        assert "**********" in done.stdout


def test_show_refuses_a_wrong_configuration(home: Path) -> None:
    """What cannot be read cannot be in effect: exit 2 with the line."""
    (home / "config.json5").write_text("{a: }")

    done = sayso(home, "config", "show")

    assert (done.returncode, done.stdout) == (2, "")
    assert "config.json5:1:5: Unexpected" in done.stderr


def test_a_home_that_others_write_exits_1(home: Path) -> None:
    """A home that anyone can write to is not a mistake in the configuration, but Sayso stops."""
    home.chmod(0o777)

    done = sayso(home, "config", "check")

    assert done.returncode == 1
    assert f"chmod 700 {home}" in done.stderr


@pytest.mark.parametrize("words", [["config"], ["config", "chekc"]])
def test_a_wrong_word_is_a_usage_error(home: Path, words: list[str]) -> None:
    """Usage errors exit 2, as everywhere."""
    done = sayso(home, *words)

    assert done.returncode == 2
    assert "usage: sayso config" in done.stderr


def test_check_warns_of_a_rule_that_allows_more_than_it_says(home: Path) -> None:
    """A plain <PATH> is below whatever folder an agent names; that is reported, not an error."""
    rule = '{match: {argv: ["touch", "<PATH>"]}, decide: "allow"}'
    (home / "config.json5").write_text(f"{{tools: {{exec: {{rules: [{rule}]}}}}}}")

    done = sayso(home, "config", "check")
    told = json.loads(sayso(home, "config", "check", "--json").stdout)

    assert 0 == done.returncode
    assert "warning: tools.exec.rules[0] allows 'touch <PATH>'" in done.stderr
    assert told["ok"]
    assert 1 == len(told["warnings"])


def test_check_warns_of_a_target_without_its_channel(home: Path) -> None:
    """Prompts that go nowhere are a mistake that a gateway cannot see until it asks."""
    target = '{mode: "targets", targets: [{channel: "webhook", to: "ops"}]}'
    (home / "config.json5").write_text(f"{{approvals: {{exec: {target}}}}}")

    done = sayso(home, "config", "check")

    assert done.returncode == 0
    assert "warning: target webhook ops: is no configured channel" in done.stderr


def test_check_warns_of_a_channel_without_approvers(home: Path) -> None:
    """The control: one approver, and there is nothing to warn of."""
    routing = 'approvals: {exec: {mode: "targets", targets: [{channel: "terminal", to: "here"}]}}'

    def warned(channels: str) -> str:
        (home / "config.json5").write_text(f"{{{channels} {routing}}}")
        return sayso(home, "config", "check").stderr

    assert "warning: target terminal: has no approver" in warned("")
    assert warned('channels: {terminal: {approvers: ["uid:0"]}},') == ""
