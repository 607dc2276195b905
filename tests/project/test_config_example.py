import itertools
import json
import re
from pathlib import Path

import json5

from bot.settings import read
from bot.settings.model import SHAPE
from bot.settings.schema import walk
from tests.project import generated


def settings_of(home: Path, text: str) -> dict[str, object]:
    """Return the settings that this text gives, without the home."""
    home.chmod(0o700)
    (home / "config.json5").write_text(text)
    reading = read(
        home,
        {
            "TELEGRAM_BOT_TOKEN": "123456789:AA",
            "DISCORD_BOT_TOKEN": "MTIz.Gabc12.x",
            "SLACK_BOT_TOKEN": "xoxb-1-a",
            "SLACK_APP_TOKEN": "xapp-1-a",
            "TELEGRAM_WEBHOOK_SECRET": "a" * 32,
            "SAYSO_WEBHOOK_SECRET": "b" * 32,
        },
    )
    return reading.settings.model_dump(by_alias=True)


def test_the_example_is_what_the_models_say() -> None:
    """`make docs` was run after the last change of a setting."""
    assert generated.EXAMPLE.read_text(encoding="utf-8") == generated.example()


def test_the_example_loads_and_equals_the_defaults(tmp_path: Path) -> None:
    """Copying it unchanged changes nothing."""
    text = generated.EXAMPLE.read_text(encoding="utf-8")

    assert settings_of(tmp_path, text) == settings_of(tmp_path, "{}")


def test_the_example_has_every_key_with_a_reason() -> None:
    """Each key of the models is in it, below a comment that says why."""
    lines = generated.EXAMPLE.read_text(encoding="utf-8").splitlines()

    for path, shape in walk(SHAPE):
        key = re.compile(rf"^[\s/]*{path[-1]}: ")
        assert any(
            key.match(line) and "//" in above for above, line in itertools.pairwise(lines)
        ), path
        assert shape.about is not None
        assert shape.about.description, path


def test_the_commented_parts_load_too(tmp_path: Path) -> None:
    """Removing the slashes gives a working configuration."""
    text = generated.EXAMPLE.read_text(encoding="utf-8")
    head, brace, body = text.partition("\n{\n")
    uncommented = head + brace + uncomment(body)

    settings = json5.loads(uncommented)
    assert settings["channels"]["telegram"]["token"] == {"env": "TELEGRAM_BOT_TOKEN"}
    assert settings["agents"]["list"][0]["id"] == "coder"
    assert settings["approvals"]["exec"]["targets"][0]["channel"] == "telegram"
    exec_ = settings["approvals"]["exec"]
    ladder = {key: exec_.pop(key) for key in ("mode", "targets", "timeout", "remind")}
    settings_of(tmp_path, json.dumps(settings))
    del exec_["ask"]
    exec_ |= ladder  # a ladder is used instead of these
    settings_of(tmp_path, json.dumps(settings))


def uncomment(body: str) -> str:
    """Remove the slashes from lines that are code; words of explanation keep theirs."""
    return "\n".join(
        re.sub(r"^(\s*)// (\s*)(?=\w+: [\[{\"\dtfn]|[\[{}\]]|// )", r"\1\2", line)
        for line in body.split("\n")
    )
