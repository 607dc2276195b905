import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.model.policy import DEFAULT_SAFE_BINS
from core.programs.safe_bins import profiled, safe_bin_of, safe_bin_problem
from tests.support.tables import rows

SECRET = "canary-7f3a"
WORDS = st.sampled_from(
    """-r -n -c -e -o -f -R -T -L -s -u -d -i -v -k -t -m -A2 -5 -nr -uo -fsecret -osecret -
    -- . secret ./secret /tmp x 1 1,2 , , a-z --output=secret --out=secret
    --files0-from=secret --files0-from --compress-program=cat --random-source=secret
    --recursive --file=secret --regexp=x --regex --follow --rawfile --slurpfile a $a --arg
    --args --jsonargs -f -L. --lines=2 --bytes --fields=1 --key=1 --output-delimiter=/
    --group --all-repeated include"secret"; $ENV env input_filename --exclude-from=secret
    -drecurse --include=* --label=x --color --temporary-directory=. -S1b --parallel=2 -F
    --retry --pid=1""".split()  # noqa: SIM905 - a word list is easier to read than a column
)


def test_the_seeds_nine_have_profiles() -> None:
    """Profile exactly the seed's default safe bins."""
    assert profiled() == set(DEFAULT_SAFE_BINS)


@rows(
    "invoked, real, configured, wanted",
    [
        ("/usr/bin/head", "/usr/bin/head", ("head",), True),
        ("/usr/bin/head", "/usr/bin/head", (), False),
        ("/tmp/head", "/tmp/head", ("head",), False),
        ("/tmp/head", "/usr/bin/head", ("head",), False),
        ("/usr/bin/head", "/tmp/head", ("head",), False),
        ("/usr/bin/head", "/usr/bin/busybox", ("head",), False),
        ("/usr/local/bin/head", "/usr/local/bin/head", ("head",), False),
        ("/usr/bin/python3", "/usr/bin/python3", ("python3",), False),
        ("/usr/bin/cat", "/usr/bin/cat", ("cat",), False),
    ],
)
def test_only_the_real_program_in_a_trusted_directory(
    invoked: str, real: str, configured: tuple[str, ...], wanted: bool
) -> None:
    """No profile, another directory or another name: not a safe bin."""
    assert (safe_bin_of(invoked, real) in configured) is wanted


@pytest.mark.parametrize("word", ["/etc/passwd", "./x", "../x", "~/x", "..", "a/../b"])
def test_paths_are_refused(word: str) -> None:
    """S1: a safe bin rejects what looks like a path, also as the value of an option."""
    for name, arguments in (("grep", [word]), ("grep", ["-e", word]), ("tr", ["a", word])):
        assert safe_bin_problem(name, arguments) is not None


@pytest.mark.timeout(120)
@settings(max_examples=250, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(DEFAULT_SAFE_BINS), st.lists(WORDS, max_size=4))
def test_accepted_arguments_touch_no_file(
    tmp_path_factory: pytest.TempPathFactory, name: str, arguments: list[str]
) -> None:
    """What a profile accepts neither shows the content of a file nor leaves one behind."""
    if safe_bin_problem(name, arguments) is None:
        assert leaks(tmp_path_factory.mktemp("bins"), name, arguments) is None


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("head", ["secret"]),
        ("grep", ["-r", "canary"]),
        ("sort", ["-o", "new"]),
        ("tail", ["-n1", "secret"]),
    ],
)
def test_refused_arguments_do_leak(tmp_path: Path, name: str, arguments: list[str]) -> None:
    """Negative control: the checker sees the leaks that the profiles refuse."""
    assert safe_bin_problem(name, arguments) is not None
    assert leaks(tmp_path, name, arguments) is not None


def leaks(folder: Path, name: str, arguments: list[str]) -> str | None:
    """Run a real program next to a secret file and return what it revealed or changed."""
    (folder / "secret").write_text(f"{SECRET}\n", encoding="utf-8")
    done = subprocess.run(
        [f"/usr/bin/{name}", *arguments],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=10,
        check=False,
        env={"PATH": "/usr/bin", "TOKEN": SECRET},
    )
    if SECRET.encode() in done.stdout + done.stderr:
        return "it showed the secret"
    if [one.name for one in folder.iterdir()] != ["secret"] or (
        folder / "secret"
    ).read_text() != f"{SECRET}\n":
        return "it changed a file"
    return None
