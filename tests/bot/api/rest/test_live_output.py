from bot.api.rest.live_output import Live
from bot.intake.callers.caller import Caller
from core.model.access import Scope
from core.model.identity import AgentId, Intake, Requester
from core.model.result import OutputChunk, StreamName

READER = Caller(Requester(Intake.HTTP, "api:reader"), None, frozenset({Scope.READ}))
AGENT = Caller(
    Requester(Intake.HTTP, "api:agent"),
    None,
    frozenset({Scope.REQUEST}),
    frozenset({AgentId("main")}),
)
TOKEN = "ghp_" + "a1B2" * 9
KEY = (
    "-----BEGIN RSA PRIVATE KEY-----\n"
    + ("MIIEowIBAAKCAQEAx0Q1YzNhZGY4Nzk4ZjM4\n" * 6)
    + "-----END RSA PRIVATE KEY-----\n"
)


def shown(caller: Caller, text: str, size: int) -> str:
    """Return what a caller is shown of a text that arrives in pieces of ``size`` bytes."""
    live, data = Live(caller), text.encode()
    told = [
        piece["text"]
        for start in range(0, len(data), size)
        for piece in live.frames(OutputChunk(StreamName.OUTPUT, data[start : start + size]))
    ]
    return "".join([*told, *(piece["text"] for piece in live.rest())])


def test_its_own_agent_sees_every_byte() -> None:
    """However it is cut, characters of several bytes included."""
    text = f"grüße\n{TOKEN}\n{KEY}"

    assert all(shown(AGENT, text, size) == text for size in (1, 3, 7, 4096))


def test_no_secret_is_shown_to_others_however_it_is_cut() -> None:
    """A token across two pieces and a key over many lines stay masked; the rest is shown."""
    text = f"first line\nexport TOKEN={TOKEN}\n{KEY}last line\nno line end"
    for size in (1, 5, 16, 64, 4096):
        found = shown(READER, text, size)

        assert TOKEN not in found
        assert "MIIEow" not in found
        assert found.splitlines()[0] == "first line", size
        assert found.splitlines()[-2:] == ["last line", "no line end"], size


def test_what_cannot_be_judged_is_left_out() -> None:
    """Megabytes without a line end are not shown: half a secret would not look like one."""
    text = "x" * 100_000 + TOKEN + "\nafter\n"
    found = shown(READER, text, 1000)

    assert TOKEN not in found
    assert "a line too long for live output" in found
    assert found.endswith("after\n")


def test_the_masking_is_what_keeps_it_back() -> None:
    """Negative control: the same text cut anywhere and masked piece by piece leaks."""
    text = f"export TOKEN={TOKEN}\n"
    halves = text[:20], text[20:]

    assert TOKEN[12:] in "".join(shown(READER, half, 4096) for half in halves)
