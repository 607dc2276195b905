"""Configure runtimes and keys as the settings name them."""

import sys
from pathlib import Path

import pytest

from bot.factories.agents import Keys, runtime_of
from bot.settings import Settings
from core.errors import SaysoError
from core.settings.isolation import KeySection, ModelApi, RuntimeSection, SecretsSection

COMMAND = ("/opt/agents/agent", "--acp")


def keys(home: Path, *entries: KeySection) -> Keys:
    """Return keys that are read as these entries say."""
    home.chmod(0o700)
    return Keys(Settings(home=home, secrets=SecretsSection(keys=entries)))


async def test_from_a_file_each_time(tmp_path: Path) -> None:
    """A changed key is the new one at once."""
    file = tmp_path / "key"
    file.touch(0o600)
    found = keys(tmp_path, KeySection(service="anthropic", file="key"))
    for value in ("one", "two"):
        file.write_text(f"{value}\n")
        assert await found.key("anthropic", "uid:0") == value


async def test_from_a_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable of the gateway's own environment."""
    monkeypatch.setenv("THE_KEY", "from-env")
    found = keys(tmp_path, KeySection(service="anthropic", env="THE_KEY"))

    assert await found.key("anthropic", "uid:0") == "from-env"


async def test_from_a_command(tmp_path: Path) -> None:
    """The first line that a command prints; a failure shows no word of its output."""
    works = KeySection(service="a", command=(sys.executable, "-c", "print('k'); print('x')"))
    fails = KeySection(service="b", command=(sys.executable, "-c", "print('s3cret'); exit(3)"))
    found = keys(tmp_path, works, fails, KeySection(service="c", command=("/nowhere/x",)))

    assert await found.key("a", "uid:0") == "k"
    with pytest.raises(SaysoError, match=r"ended \(3\)") as failure:
        await found.key("b", "uid:0")
    assert "s3cret" not in str(failure.value)
    with pytest.raises(SaysoError, match="cannot be started"):
        await found.key("c", "uid:0")


async def test_a_person_has_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A person's key is that person's; if there is none for everyone, others have none."""
    monkeypatch.setenv("ANAS", "anas")
    monkeypatch.setenv("ALLS", "alls")
    own = KeySection(service="anthropic", env="ANAS", people=("telegram:1",))
    both = keys(tmp_path, KeySection(service="anthropic", env="ALLS"), own)

    assert await both.key("anthropic", "telegram:1") == "anas"
    assert await both.key("anthropic", "telegram:2") == "alls"
    for service in ("anthropic", "gemini"):
        with pytest.raises(SaysoError, match="has none"):
            await keys(tmp_path, own).key(service, "telegram:2")


def test_a_runtime_by_its_api() -> None:
    """Each API has its address, its header and its variables; the entry's own are added."""
    section = RuntimeSection(command=COMMAND, api=ModelApi.OPENAI, env=("A=b=c",))
    found = runtime_of(section)

    assert (found.command, found.service, found.prefix) == (COMMAND, "openai", "Bearer ")
    assert found.env["OPENAI_API_KEY"] == "{token}"
    assert found.env["A"] == "b=c"
    own = RuntimeSection(command=COMMAND, service="s", base_url="http://127.0.0.1:1/x")
    assert (runtime_of(own).service, runtime_of(own).url) == ("s", "http://127.0.0.1:1/x")


@pytest.mark.parametrize(
    "wrong",
    [
        {"command": ()},
        {"command": ("agent",)},
        {"command": COMMAND, "env": ("=x",)},
        {"command": COMMAND, "base_url": "ftp://x"},
        {"command": COMMAND, "base_url": "https://user@x/"},
    ],
)
def test_wrong_runtimes(wrong: dict[str, object]) -> None:
    """A program without an absolute path, a variable without a name, an address with a user."""
    with pytest.raises(ValueError, match="must"):
        RuntimeSection.model_validate(wrong)


@pytest.mark.parametrize("given", [{}, {"env": "A", "file": "b"}, {"command": ()}])
def test_a_key_has_one_source(given: dict[str, object]) -> None:
    """None and two are mistakes."""
    with pytest.raises(ValueError, match="one of env, file and command"):
        KeySection.model_validate({"service": "x", **given})
