"""Find what a program's input makes code, and what a text that was not read makes code."""

import time

import pytest

from core.planning.code.texts.reached import DEEPEST_TEXT, by_options, by_text, by_vector
from tests.support.tables import rows

TAKING = (
    *("sh", "sh -", "bash -s a", "bash -e", "sh +e", "dash -o noglob", "python3", "python3 -"),
    *("python3 -W ignore", "python3 -i x.py", "perl", "node", "node -i x.js", "lua -", "php"),
    *("awk -f -", "sed -f /dev/stdin", "make -f -", "psql", "psql db", "gdb prog", "fish"),
    *("sudo sh", "sudo -s", "sudo -u a -i", "su", "su - bob", "sudo su", "env python3 -"),
    *("uv run python", "uv run -", "npx node", "npm exec -- sh"),
    *("timeout 5 bash", "nohup sh -s a", "busybox sh", "setsid sh", "chroot /x", "unshare -r"),
    *("ssh host", "ssh -p 22 host", "ssh host bash -s", "docker exec -i c sh", "script log"),
    *("xargs sh", "xargs -n1 sh -c", "xargs -I{} sh -c {}", "xargs -IX sh -c X", "xargs env"),
    *("parallel", "parallel -j4", "at now", "batch", "crontab", "crontab -", "ed file", "R"),
    *("find . -exec sh ;", "watch sh", "strace -f sh", "sh + -", "timeout 5 sh --"),
    *("sqlite3", "sqlite3 x.db", "sqlite3 -csv x.db", "sqlite3 -cmd x y", "vim -es", "vim -e -s a"),
    *("python3 -ic 1", "python3 -im json", "sh //dev/stdin", "python3 /proc/self/fd/3"),
    *(
        "node -p",
        "node --print --no-warnings",
        "deno repl",
        "sudo -su root",
        "sudo -Es",
        "sudo --lo",
        "capsh --",
    ),
    *(
        "linux64",
        "setarch x86_64",
        "setarch -R",
        "i386",
        "su -s /bin/sh root",
        "su -c sh root",
        "su --comm=sh",
    ),
    *(
        "script -qc python3 a",
        "script -qcsh a",
        "flock a -c sh",
        "xargs timeout 5",
        "xargs env -S",
        "xargs sudo -u a",
    ),
    *("xargs --replace=@ sh -c @", "xargs -n2 strace -o a", "xargs -I 1 sh -c 1", "parallel -j 4"),
    *("fish -c source", "fish --command=source", "xargs awk", "pkexec", "timeout 5 setarch x86_64"),
    *('awk {print|"sh"}', 'awk {print|"R"}', 'awk {print|"su"}', "sed e", "cmake -E env sh"),
    *("ctest --build-and-test a b --test-command sh", "timeout 5 awk {system($0)}"),
    *("env -S sh", "env -Ssh", "sudo -u sh bash", "command sh", "exec sh"),
    *("python3 manage.py shell", "flask --app x shell", "bundle exec rails console"),
    *("bundle exec irb", "bundle console", "rake console", "jupyter console", "nix repl"),
    *("mix run -", "rust-script -", "vagrant ssh", "gcloud compute ssh x", "cockroach sql"),
    *("python3 -m IPython", "pgcli db", "evcxr", "ex", "ex -s log", "docker-compose exec -T c sh"),
    *("kubectl apply -f -", "kubectl create --filename=-", "docker compose -f - up"),
    *("k3s kubectl apply -f -", "minikube kubectl -- apply -f-", "kubectl run x -i --image=y"),
    *("kubectl debug -it p", "kubectl attach -i p", "kn apply -f /dev/stdin", "argo submit -"),
    *(
        "docker run -i python:3",
        "docker run --rm -it img",
        "docker start -ai web",
        "docker attach web",
    ),
    *(
        "docker build -",
        "docker buildx build -t x -f - .",
        "podman kube play -",
        "buildah bud -f- .",
    ),
    *("crictl exec -i c sh", "ctr task exec --exec-id x c sh", "adb shell", "lxc shell c"),
    *("aws ssm start-session --target x", "nix develop", "stack ghci", "swift repl", "lein repl"),
    *("redis-cli -h h", "mysqlsh --py", "clickhouse-client", "clickhouse local", "pg_restore -d x"),
    *(
        "pyspark",
        "scheme",
        "osascript",
        "openssl",
        "wsl.exe",
        "rdmd -",
        "pip install -r /dev/stdin",
    ),
    *("uv run python manage.py dbshell", "rails runner -", "coverage run /dev/stdin"),
    *(
        "duckdb",
        "duckdb a.db",
        "swipl",
        "clj",
        "raku -",
        "nix-build -",
        "nim r -",
        "gunicorn -c /dev/stdin a:b",
    ),
)
LEAVING = (
    *("python3 manage.py migrate", "flask run", "rails server", "terraform console"),
    *("bundle exec rake", "mix run x.exs", "docker-compose exec -T c cat", "pgcli -c 1 db"),
    *("docker run img", "docker run -d --init --name x img", "docker build .", "kubectl run x"),
    *("docker start web", "kubectl logs -f x", "swift build", "nix build", "pip install -r r.txt"),
    *("openssl dgst -sha256", "redis-cli -h h get", "pg_restore -d x a.dump", "stack build"),
    *("duckdb -c 1", "duckdb a.db x", "raku x.raku", "kubectl apply -f x.yml"),
    *("gunicorn -c a.py a:b", "docker compose -f a.yml up", "coverage run x.py", "nix-build x.nix"),
    *(
        "cat",
        "grep x",
        "sort",
        "head -n 3",
        "jq .",
        "tee a",
        "sh x.sh",
        "bash -e x.sh -",
        "sh +x x",
    ),
    *(
        "python3 x.py",
        "python3 -W ignore x.py",
        "python3 -m json.tool",
        "python3 -c x",
        "perl -ne x",
    ),
    *("node x.js", "node --inspect x.js", "node -e 1", "deno run x.ts", "ruby -e 1", "php x.php"),
    *('awk {print|"sort"}', "grep -E env", "grep -E chdir"),
    *("awk x", "awk -f x.awk", "sed s/a/b/", "make", "psql -c x", "psql -f x.sql"),
    *("sudo tail log", "sudo -u bob grep x", "sudo sh x.sh", "su - bob x", "env cat", "nohup cat"),
    *("ssh host cat", "docker exec -i c cat", "kubectl get -o yaml -f x.yml", "script -c cat log"),
    *(
        "xargs rm",
        "xargs -n1 sh x.sh",
        "xargs python3 x.py",
        "parallel grep x",
        "xargs -I{} mv {} a",
    ),
    *(
        "sh - x.sh",
        "sh + x.sh",
        "sudo sh -- x.sh",
        "sqlite3 x.db .tables",
        "sqlite3 -csv x.db .dump",
    ),
    *("vim log", "vim -c q log", "env -Ssh x.sh", "command cat", "sh -c exit", "sh -c x -s"),
    *(
        "node -p 1",
        "sudo grep -i x",
        "sudo -n -u a grep -i x",
        "linux64 sort",
        "setarch -R sort",
        "unshare -r cat",
    ),
    *(
        "xargs timeout 5 curl -s",
        "xargs grep time",
        "xargs",
        "xargs -n 1",
        "script -qc wc a",
        "su root -c wc",
    ),
    *("xargs env A=1 mv", "flock a -c ls", "capsh -- x.sh", "su - a -c wc", "sudo -E tool"),
    *("find . -name x", "crontab -l x", "timeout 5 python3 x.py"),
    *("uv run python x.py", "npx tsx x.ts", "uv run x.py"),
)


@rows("line", TAKING)
def test_code_comes_by_the_input(line: str) -> None:
    """No script is named, or the input is named as one."""
    words = line.split()

    assert by_vector(words, words[0]).takes


@rows("line", LEAVING)
def test_the_input_is_data(line: str) -> None:
    """It may change: no interpreter is fed, or one that has its code."""
    words = line.split()

    assert not by_vector(words, words[0]).takes


def test_a_shell_in_a_shell_takes_the_input() -> None:
    """The text of the outer one says so."""
    assert by_vector(("sh", "-c", "cd a && sh"), "/bin/dash").takes
    assert not by_vector(("sh", "-c", "cd a && cat"), "/bin/dash").takes


def test_a_program_goes_by_its_real_name_as_well() -> None:
    """A link to an interpreter is one."""
    assert by_vector(("./tool",), "/usr/bin/dash").takes
    assert by_vector(("./tool",), "/usr/bin/python3").takes
    assert by_vector(("python3",), "/opt/own/tool").takes
    assert not by_vector(("./tool",), "/usr/bin/cat").takes


def test_what_a_wrapper_sets_may_be_code_where_the_input_is() -> None:
    """A shell without a script may be given the value of a variable; a reader of data may not."""
    assert "notes" in by_vector(("sudo", "A=notes", "sh"), "/usr/bin/sudo").files
    assert "notes" not in by_vector(("sudo", "A=notes", "cat"), "/usr/bin/sudo").files


@rows(
    "text, code, data",
    [
        ("sh notes > log", {"notes"}, {"log"}),
        ("sh < notes > log", {"notes"}, {"log"}),
        ("bash < notes data", {"data"}, {"notes"}),
        ("bash < notes -s data", {"notes"}, {"data"}),
        ("python3 x < data > log", {"x"}, {"data", "log"}),
        (". ./notes data", {"./notes"}, {"data"}),
        ("awk -f notes data > log", {"notes"}, {"data", "log"}),
        ("cat notes data | tail | sh > log", {"notes", "data"}, {"log"}),
        ('"$x" < notes', {"notes"}, set()),
        ("/bin/s? < notes", {"notes"}, set()),
        ('eval "$(cat notes)"', {"notes"}, set()),
        ("F=notes; sh < $F", {"notes"}, set()),
        ("sh $D/notes > log", {"notes"}, {"log"}),
        ("bash <<E\nsh notes\nE", {"notes"}, set()),
        ("cat <<E > log\nsh notes\nE", set(), {"notes", "log"}),
        ("su -c 'sh < notes' > log", {"notes"}, {"log"}),
        ("BASH_ENV=notes bash -c true > log", {"notes"}, {"log"}),
        ("sort < data | head > log", set(), {"data", "log"}),
        ("for one in a b; do echo $one; done < data", set(), {"data"}),
        ("echo 'sh < notes' > log", set(), {"notes", "log"}),
        ("sh < notes | tee log", {"notes"}, {"log"}),
        ("echo tee notes | tee log | sh", {"notes"}, {"log"}),
        ("[ -f log ] && sh < notes", {"notes"}, {"log"}),
        ("test -f notes; sh < $_", {"notes"}, set()),
        ("git commit -m log -F data; sh < notes", {"notes", "data"}, {"log"}),
        ("python3 - <<'E'\nopen('log')\nE\nsh < notes", {"notes"}, {"log"}),
        ("python3 - <<'E' | sh\nopen('notes')\nE", {"notes"}, set()),
        ("eval \"$(python3 - <<'E'\nopen('notes')\nE\n)\"", {"notes"}, set()),
        ("python3 - <<E\n$(cat notes)\nE", {"notes"}, set()),
        ("sh 3<<E < notes\nE", {"notes"}, set()),
        ("cat notes | sh 3<<E\nE", {"notes"}, set()),
        ("exec 3< notes; sh /dev/fd/3 <<E\nE", {"notes"}, set()),
        ("F=notes; sh -c 'sh < $F' <<E\nE", {"notes"}, set()),
        ("sh <<E\nread x; . $x\nnotes\nE", {"notes"}, set()),
        ("{ sh; } <<E\n. ./notes\nE", {"./notes"}, set()),
        ('x=$(cat notes); sed -n "$x" log', {"notes"}, set()),
        ('sed "s/a/$x/" log', set(), {"log"}),
        ("x=$(date); awk -v x=\"$x\" '{ print x }' log", set(), {"log"}),
        ("sudo tail -n $x log", set(), {"log"}),
        ("timeout $x tail log", set(), set()),
        ("sudo -u sh bash notes > log", {"notes"}, {"log"}),
        ("GIT_PAGER='sh notes' git log > log", {"notes"}, {"log"}),
        ("for f in notes; do . ./$f; done", {"notes"}, set()),
        ("sh $D/notes.sh log > data", {"notes.sh"}, {"log", "data"}),
        ("hash -p ./notes ls; ls", {"./notes"}, set()),
        ("sh ${x:-notes} > log", {"notes"}, {"log"}),
        ("bash -c $'sh not\\x65s' > log", {"notes"}, {"log"}),
        ("tar -cf log -Ish\\ notes data > log", {"notes"}, {"log", "data"}),
        ("ssh -o 'ProxyCommand sh notes' x > log", {"notes"}, {"log"}),
        ("gcc -wrapper sh,notes -c log", {"notes"}, {"log"}),
        ("capsh -- -c 'sh notes' > log", {"notes"}, {"log"}),
        ("fish -C 'source notes' -c true > log", {"notes"}, {"log"}),
        ("time -p sh notes > log", {"notes"}, {"log"}),
        ("FOO='sh notes' sh -c '$FOO' > log", {"notes"}, {"log"}),
        ("PS4='$(sh notes)' bash -xc : > log", {"notes"}, {"log"}),
        ("S=${SHELL:-sh}; tail log", set(), {"log"}),
        ("LOG=log node x.js", set(), {"log"}),
        ("make test LOG=log > x", set(), {"log"}),
        ("ssh h <<E\ntail log\nE", set(), {"log"}),
        ("ssh h sh <<E\ntail $x notes\nE", {"notes"}, set()),
        ("git commit -m 'sh log'", set(), {"log"}),
        ("mapfile -C '. ./notes' -c 1 x < log", {"./notes"}, {"log"}),
    ],
)
def test_what_a_text_makes_code(text: str, code: set[str], data: set[str]) -> None:
    """What it feeds, sources or gives an interpreter; not what it writes or only reads."""
    files = set(by_text(text).files)

    assert code <= files
    assert not data & files


@pytest.mark.parametrize(
    "text",
    [
        "command " * 8_000 + "sh notes",
        "timeout 5 " + "sh " * 8_000 + "notes",
        "env " * 8_000 + "sh notes",
        "eval " * 8_000 + "sh notes",
        "find . " + "-exec sh x ';' " * 2_000,
        "x=`" * 4_000,
        "sh <<E\n" * 2_000,
    ],
)
def test_no_text_takes_long(text: str) -> None:
    """However often it occurs in it."""
    start = time.process_time()
    by_text(text)

    assert time.process_time() - start < 5  # a fraction of it, on an idle machine


@pytest.mark.parametrize(
    ("word", "named"),
    [
        ("sh:notes", False),
        ("pager=sh:notes", True),
        ("--pager=sh:notes", True),
        ("-Xsh:notes", True),
    ],
)
def test_what_a_wrapper_is_given_names_code_in_settings_and_options(
    word: str, *, named: bool
) -> None:
    """A plain operand with an interpreter's name in it is data; a setting with one may be run."""
    found = by_text(f"timeout 5 tool {word}").files

    assert named is (word in found)
    assert named is ("notes" in found)


def test_what_is_too_deep_counts_as_code() -> None:
    """A text nested this deep is not inspected further."""
    text = "cat notes"
    for _ in range(DEEPEST_TEXT + 1):
        text = f"echo $({text})"

    assert by_text(text).takes
    assert "notes" in by_text(text).files


@pytest.mark.parametrize("word", ["exec", "command", "builtin"])
def test_a_shells_prefixes_are_looked_through_until_they_are_too_many(word: str) -> None:
    """Behind the deepest nesting of texts that is read, what is run is still known."""
    known = by_text(f"{word} " * (DEEPEST_TEXT + 1) + "sh notes")
    unknown = by_text(f"{word} " * (DEEPEST_TEXT + 2) + "sh notes")

    assert not known.takes
    assert "notes" in known.files
    assert unknown.takes


@pytest.mark.parametrize("program", ["/usr/bin/python3", "/usr/bin/perl", "/usr/bin/node"])
def test_the_code_of_an_interpreter_is_read_as_no_shells(program: str) -> None:
    """What it opens is data, which may grow until the answer; the control is a shell's text."""
    code = 'for one in os.listdir(f"/proc/{pid}"): open("log.txt")'
    assert not by_options((program, "-c", code), program).files
    assert not by_options(("/opt/bin/tool", "-c", code), program).files, "a link to it"
    assert not by_options((program, "-c", code), "/opt/runtime/binary").files, "what it leads to"
    assert "notes" in by_options(("/usr/bin/git", "-c", "core.pager=sh notes"), "").files
