import os
import random
from pathlib import Path

import pytest

from core.model.command import Connector
from core.runner.runner import Runner
from core.runner.supervisor import connectors as pipeline
from tests.core.runner.supervisor.bash_oracle import agrees_with_bash

LINES = [
    "true && echo a || echo b",
    "false && echo a || echo b",
    "true || echo a && echo b",
    "false || false && echo x ; echo y",
    "echo a ; false",
    "false ; true && false",
    "false | true",
    "true | false",
    "true | false || echo saved",
    "printf 'c\\nb\\na\\n' | sort | head -n 2",
    "seq 3 | cat | tac && echo done",
    "yes | head -n 3 | wc -l",
    "seq 100000 | tail -n 1",
    "cat /no/such/file && echo no || echo yes",
    "cat /no/such/file | wc -l",
    "sh -c 'exit 7' || sh -c 'exit 9'",
    "sh -c 'exit 7' ; echo next ; sh -c 'exit 8'",
    "sh -c 'kill -13 $$' || echo gone",
    "sh -c 'sleep 0.2; echo 1' ; echo 2",
    "sh -c 'sleep 0.2; echo 1' | cat ; echo 2",
    "sh -c 'echo on-error >&2' | cat",
]


@pytest.mark.parametrize("line", LINES)
async def test_a_line_runs_as_in_bash(runner: Runner, tmp_path: Path, line: str) -> None:
    """Run order, short circuit, pipes, streams and status as the shell does."""
    await agrees_with_bash(runner, line, tmp_path)


async def test_any_chain_runs_as_in_bash(runner: Runner, tmp_path: Path) -> None:
    """Chains drawn from all connectors agree with bash in output and status."""
    draw = random.Random(os.environ.get("SAYSO_TEST_SEED", "0"))
    parts = ["true", "false", "echo {}", "sh -c 'cat; echo {}; exit 1'", "sh -c 'cat; echo {}'"]
    for _ in range(40):
        words = [draw.choice(parts).format(n) for n in range(draw.randint(2, 6))]
        line = words[0] + "".join(
            f" {draw.choice(['|', '&&', '||', ';'])} {word}" for word in words[1:]
        )
        await agrees_with_bash(runner, line, tmp_path)


def test_the_words_for_connectors_are_the_models() -> None:
    """The supervisor may not import the model, so its words are compared here."""
    assert {pipeline.PIPE, pipeline.AND, pipeline.OR, pipeline.THEN} == set(Connector)


def test_pipes_bind_tightest() -> None:
    """Commands are grouped into pipelines, each with what comes before it."""
    assert pipeline.pipelines(["|", "&&", "|", "||", ";"], 6) == [
        (";", range(2)),
        ("&&", range(2, 4)),
        ("||", range(4, 5)),
        (";", range(5, 6)),
    ]


@pytest.mark.parametrize(("connectors", "commands"), [([], 0), (["|"], 1), ([], 2), (["&"], 2)])
def test_what_does_not_fit_is_an_error(connectors: list[str], commands: int) -> None:
    """No commands, a wrong number of connectors and an unknown one are refused."""
    with pytest.raises(ValueError, match="join"):
        pipeline.pipelines(connectors, commands)
