"""Recognise programs that load their code again while they run."""

from core.planning.code.words.reloading import reloads
from tests.support.tables import rows


@rows(
    "line, found",
    [
        ("uvicorn app:app --reload", True),
        ("uv run uvicorn app:app --reload", True),
        ("python3 -m uvicorn app:app --reload", True),
        ("npx nodemon x.js", True),
        ("npx tsx watch x.ts", True),
        ("node --watch-path=src x.js", True),
        ("flask --app x run --debug", True),
        ("streamlit run x.py", True),
        ("pm2 start x.js --watch", True),
        ("npx pm2 start x.js", True),
        ("forever x.js", True),
        ("supervisor x.js", True),
        ("pm2 list", False),
        ("pm2 logs start", False),
        ("uvicorn app:app", False),
        ("node x.js --watch", False),
        ("python3 x.py --reload", False),
        ("torchrun x.py nodemon", False),
        ("sh x.sh uvicorn --reload", False),
        ("npx -y nodemon x.js", True),
        ("uv run --with x uvicorn app:app --reload", True),
        ("uv run --frozen python3 -um uvicorn app:app --reload", True),
        ("fastapi dev x.py", True),
        ("uv run --with nodemon python3 x.py", False),
        ("uv run --odd nodemon python3 x.py", False),
        ("npx -p nodemon ./x.sh", False),
        ("npx -y ./x.sh nodemon", False),
        ("npx ./nodemon x.js", False),
        ("python3 nodemon", False),
        ("node ./nodemon x.js", False),
        ("uv run python3 streamlit", False),
        ("node -r watch x.js", False),
        ("flask --app dev run", False),
        ("gunicorn -c dev app:app", False),
        ("uvicorn dev:app --debug", False),
    ],
)
def test_what_loads_its_code_again(line: str, found: bool) -> None:
    """Only a program that certainly does: a value of an option, or a script, may have its name."""
    name, *words = line.split()
    assert reloads((name, *words), f"/usr/bin/{name}") is found


def test_a_link_with_the_name_of_a_server_is_none() -> None:
    """A shell that is started as `./nodemon` loads its script once."""
    assert not reloads(("./nodemon", "x.sh"), "/usr/bin/dash")
