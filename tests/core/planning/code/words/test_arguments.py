"""Find the words of a wrapper's command that an interpreter reads as code."""

import pytest

from core.planning.code.words.arguments import code_words
from core.planning.code.words.parts import CodeWord
from core.programs.inline_code import DEEPEST_START
from tests.support.tables import rows


@pytest.mark.parametrize(
    "between",
    [(), ("-u", "root"), ("-g", "a", "-u", "b", "-h", "c", "-p", "d", "-C", "5", "--")],
    ids=len,
)
def test_the_first_interpreter_behind_a_wrapper_reads_its_script(between: tuple[str, ...]) -> None:
    """However many words the wrapper takes itself; nothing else can have taken the script."""
    found = tuple(code_words(("sudo", *between, "bash", "x.sh"), "/usr/bin/sudo"))
    assert found == (CodeWord("x.sh", sure=True),)


def test_a_later_interpreter_may_be_the_first_ones_word() -> None:
    """What it would read counts, but may be missing: `sh` can be the name of a user here."""
    found = tuple(code_words(("sudo", "-u", "sh", "bash", "x.sh"), "/usr/bin/sudo"))
    assert found == (CodeWord("bash", sure=True), CodeWord("x.sh"))


@pytest.mark.parametrize(
    ("line", "scripts"),
    [
        ("uv run --script tool", (CodeWord("tool"),)),
        ("uv run tool", ()),
        ("npx tool", ()),
        ("npx ./tool.js", (CodeWord("./tool.js", sure=True),)),
    ],
)
def test_what_a_program_starts_by_name_is_code_if_it_is_a_script(
    line: str, scripts: tuple[CodeWord, ...]
) -> None:
    """A plain name is a program, found elsewhere, unless the line calls it a script."""
    argv = tuple(line.split())

    assert code_words(argv, f"/usr/bin/{argv[0]}") == scripts


def test_a_program_that_starts_nothing_has_no_code() -> None:
    """The control: an interpreter is only a word there."""
    assert not tuple(code_words(("ls", "bash", "x.sh"), "/usr/bin/ls"))


@pytest.mark.parametrize(
    ("argv", "files"),
    [
        (("perl", "-Ilib", "-MA::B", "x.pl"), {"A/B.pm", "lib/A/B.pm", "x.pl"}),
        (("ruby", "-Ilib", "-ra/b", "x.rb"), {"a/b.rb", "lib/a/b.rb", "x.rb"}),
        (("python3", "-m", "a.b"), {"a/b.py"}),
        (("pydoc3", "-w", "a.b"), {"a/b.py"}),
        (("node", "-r", "./a.js", "x.js"), {"./a.js", "x.js"}),
    ],
)
def test_the_modules_that_options_load_are_code(argv: tuple[str, ...], files: set[str]) -> None:
    """Wherever the options say that they may be; the script is code all the same."""
    found = {one.path for one in code_words(argv, f"/usr/bin/{argv[0]}")}

    assert files <= found


def test_what_options_behind_the_code_load_is_code() -> None:
    """Node reads its options there too, until a word that is none, or two dashes."""
    code = ("node", "-e", "1")
    for words, found in (
        (("-r", "./x.js"), {"./x.js"}),
        (("--no-warnings", "-r", "./x.js"), {"./x.js"}),
        (("a", "-r", "./x.js"), set()),
        (("--", "-r", "./x.js"), set()),
    ):
        assert {one.path for one in code_words((*code, *words), "/usr/bin/node")} == found


@rows(
    "argv, word",
    [
        (("openssl", "ca", "-config", "x"), "x"),
        (("wget", "--config=x", "u"), "x"),
        (("wget", "--conf", "x", "u"), "x"),
        (("cargo", "build", "--config", "x"), "x"),
        (("curl", "-sK", "x"), "x"),
        (("man", "-C", "x", "ls"), "x"),
        (("kubectl", "--kubeconfig=x", "get", "pods"), "x"),
        (("helm", "--kubeconfig", "x", "list"), "x"),
        (("ansible", "-i", "x", "all"), "x"),
        (("ansible-playbook", "--vault-password-file=x", "p.yml"), "x"),
        (("ansible-playbook", "p.yml"), "p.yml"),
        (("mysql", "--defaults-extra-file=x"), "x"),
        (("mysql", "-e", "source x"), "x"),
        (("pgbench", "-f", "x", "db"), "x"),
        (("logrotate", "-f", "x"), "x"),
        (("systemctl", "enable", "--now", "./x.service"), "./x.service"),
        (("wg-quick", "up", "./x.conf"), "./x.conf"),
        (("latexmk", "-r", "x", "a"), "x"),
        (("gradle", "--init-script", "x"), "x"),
        (("meson", "setup", "--native-file=x", "b"), "x"),
        (("lldb", "-s", "x"), "x"),
    ],
)
def test_files_that_may_name_programs_count(argv: tuple[str, ...], word: str) -> None:
    """What they contain runs, although they are settings."""
    assert word in [one.path for one in code_words(argv, f"/usr/bin/{argv[0]}")]


def test_units_without_a_path_are_no_files() -> None:
    """The control: systemd looks for them in its own folders."""
    assert not tuple(code_words(("systemctl", "enable", "x.service"), "/usr/bin/systemctl"))


@rows(
    "line, files",
    [
        ("uv run x.py", {"x.py"}),
        ("uv run --with y ./x", {"./x"}),
        ("uv run python -m a.b", {"a/b.py"}),
        ("npx tsx x.ts", {"x.ts"}),
        ("npx mocha -r ./x.js", {"./x.js"}),
        ("npm exec -- sh x.sh", {"x.sh"}),
        ("poetry run coverage run x.py", {"x.py"}),
        ("python3 -m coverage run x.py", {"x.py"}),
        ("python3 -m pytest -c x.ini", {"x.ini"}),
        ("bundle exec rake -f x.rb", {"x.rb"}),
        ("yarn node x.js", {"x.js"}),
        ("xvfb-run uv run x.py", {"x.py"}),
        ("xvfb-run python3 -m coverage run x.py", {"x.py"}),
        ("xvfb-run -a npx tsx x.ts", {"x.ts"}),
        ("uv run npx poetry run tsx x.ts", {"x.ts"}),
        ("prove -I lib x.t y.t", {"x.t", "y.t"}),
        ("go run x.go", {"x.go"}),
        ("docker compose -f x.yml up", {"x.yml"}),
        ("kubectl apply -f x.yml", {"x.yml"}),
        ("terraform apply x.tfplan", {"x.tfplan"}),
        ("vite --config=x.js", {"x.js"}),
        ("nox -f x.py", {"x.py"}),
        ("gunicorn -c x.py a:b", {"x.py"}),
        ("nodemon x.js", {"x.js"}),
        ("bats x.bats", {"x.bats"}),
        ("bats build x.bats", {"x.bats"}),
        ("go -C build run x.go", {"x.go"}),
        ("zig build --build-file x.zig", {"x.zig"}),
        ("crystal build x.cr", {"x.cr"}),
        ("mix format --dot-formatter x.exs", {"x.exs"}),
        ("kotlinc -script x.kts", {"x.kts"}),
        ("rspec -r ./x.rb y_spec.rb", {"./x.rb"}),
    ],
)
def test_what_is_started_by_name_names_code_as_well(line: str, files: set[str]) -> None:
    """A script is one whoever starts its interpreter; so is a file of options that is code."""
    argv = tuple(line.split())
    found = {one.path for one in code_words(argv, f"/usr/bin/{argv[0]}")}

    assert files <= found


@rows(
    "line",
    [
        *("uv pip install x.py", "npm run x.py", "git add x.py", "go vet x.py"),
        *("go build -o y x.py", "dart format x.py", "kotlinc x.py", "rspec -c x.py"),
    ],
)
def test_a_word_that_starts_nothing_is_no_code(line: str) -> None:
    """These programs start nothing by this name: to compile or format a file runs none of it."""
    argv = tuple(line.split())

    assert "x.py" not in {one.path for one in code_words(argv, f"/usr/bin/{argv[0]}")}


def test_started_programs_are_followed_to_a_depth() -> None:
    """As deep as they are judged; a deeper one asks, so that nobody stores it."""
    argv = ("uv", "run") * (DEEPEST_START + 3) + ("x.py",)

    assert "x.py" not in {one.path for one in code_words(argv, "/usr/bin/uv")}


@pytest.mark.parametrize("words", ["./make x.sh", "./php -l x.sh", "./vim x.sh"])
def test_a_program_is_read_by_each_of_its_names(words: str) -> None:
    """A link to a shell may have any name, and what another program would do with the words."""
    assert "x.sh" in {one.path for one in code_words(tuple(words.split()), "/usr/bin/dash")}
