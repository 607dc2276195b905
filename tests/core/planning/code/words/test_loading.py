"""Bind the modules that code in words, or in the input, loads from the project."""

import time
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from core.planning.code.words.loading import loaded_by_any
from core.planning.library_modules import modules_of
from core.planning.python_modules import imported_by, searched_in
from tests.support.runs import drifts, planned, request
from tests.support.tables import rows

TREE = (
    *("mod.py", "lib/mod.py", "pkg/__init__.py", "pkg/a.py", "pkg/sub/__init__.py"),
    *("pkg/sub/m.py", "y.js", "lib/q.js", "node_modules/n/index.js", "X.pm", "lib/X.pm"),
    *("log", "data.txt"),
)


def written(place: Path, name: str, text: str) -> None:
    """Write a file below a folder."""
    (place / name).parent.mkdir(parents=True, exist_ok=True)
    (place / name).write_text(text)


@rows(
    "line, name",
    [
        ("python3 -c 'import mod'", "mod.py"),
        ("python3 -c 'import os, mod as m; m.go()'", "mod.py"),
        ("python3 -c 'from mod import go; go()'", "mod.py"),
        ("python3 -cimport\\ mod", "mod.py"),
        ("python3 -X dev -uc 'import mod'", "mod.py"),
        ("python3 -c 'import pkg.a'", "pkg/a.py"),
        ("python3 -c 'import pkg.a'", "pkg/__init__.py"),
        ("python3 -c 'from pkg import (\n a,\n)'", "pkg/a.py"),
        ("python3 -c 'from pkg.sub.m import f'", "pkg/sub/m.py"),
        ("python3 -c '__import__(\"mod\")'", "mod.py"),
        ("python3 -c 'import importlib; importlib.import_module(\"mod\")'", "mod.py"),
        ("python3 -c 'import sys; sys.path.insert(0, \"lib\"); import mod'", "lib/mod.py"),
        ("env PYTHONPATH=lib python3 -c 'import mod'", "lib/mod.py"),
        ("cd lib && python3 -c 'import mod'", "lib/mod.py"),
        ("timeout 9 python3 -c 'import mod'", "mod.py"),
        ("sh -c 'python3 -c \"import mod\"'", "mod.py"),
        ("(python3 -c 'import mod')", "mod.py"),
        ("(cd lib && python3 -c 'import mod')", "lib/mod.py"),
        ("python3 - <<'Z'\nimport mod\nZ", "mod.py"),
        ("python3 - <<'Z'\nimport sys\nsys.path.append('lib')\nimport mod\nZ", "lib/mod.py"),
        ("python3 <<<'import mod'", "mod.py"),
        ("echo 'import mod' | python3", "mod.py"),
        ("(echo 'import mod' | python3)", "mod.py"),
        ("python3 -m timeit -s 'import mod' 'mod.go()'", "mod.py"),
        ("python3 -c 'import json'", "json.py"),
        ("python3 -c 'import json'", "json/__init__.py"),
        ("python3 -c 'import new'", "new.py"),
        ("(python3 -c 'import new')", "new.py"),
        ("node -e 'require(\"./y\")'", "y.js"),
        ("node -p 'require(`./y`).x'", "y.js"),
        ("node -e 'import(\"./lib/q\")'", "lib/q.js"),
        ("node --input-type=module -e 'import q from \"./y\"'", "y.js"),
        ("node -e 'require(\"n\")'", "node_modules/n/index.js"),
        ("node -e 'require(process.cwd() + \"/y\")'", "y.js"),
        ("node -e 'require(\"./new\")'", "new.js"),
        ("(node -e 'require(\"./lib/q\")')", "lib/q.js"),
        ("node <<'Z'\nrequire('./lib/q')\nZ", "lib/q.js"),
        ("perl -I. -e 'use X;'", "X.pm"),
        ("perl -Ilib -e 'require X;'", "lib/X.pm"),
        ("perl -e 'use lib \"lib\"; use X qw(f);'", "lib/X.pm"),
        ("perl -Ilib -lne 'use X; print f($_)' log", "lib/X.pm"),
        ("perl -e 'BEGIN { unshift @INC, \"lib\" } use X;'", "lib/X.pm"),
        ("perl -Ilib -e 'use New;'", "lib/New.pm"),
        ("perl -I. <<'Z'\nuse X;\nZ", "X.pm"),
    ],
)
def test_what_code_loads_is_bound(line: str, name: str) -> None:
    """It stays what it was when the question was asked, or absent."""
    with TemporaryDirectory() as folder:
        place = Path(folder)
        for one in TREE:
            written(place, one, "good\n")
        plan = planned(request(line, cwd=folder))
        assert not drifts(plan)
        written(place, "replacing", "evil\n")
        (place / name).parent.mkdir(exist_ok=True)
        (place / "replacing").rename(place / name)

        assert drifts(plan)


@rows(
    "line, name",
    [
        ("python3 -c 'import mod'", "log"),
        ("python3 -c 'import mod'", "other.py"),
        ("python3 -c 'import mod'", "lib/mod.py"),
        ("python3 -Ic 'import mod'", "mod.py"),
        ("python3 -Pc 'import mod'", "mod.py"),
        ("python3 -c 'print(1)' 'import mod'", "mod.py"),
        ("python3 -c 'from pkg import a'", "a.py"),
        ("python3 lib/mod.py 'import mod'", "mod.py"),
        ("echo 'import mod' | grep mod", "mod.py"),
        ("grep 'import mod' log", "mod.py"),
        ('node -e \'require("fs").readFileSync("log")\'', "log"),
        ("node -e 'require(\"./y\")'", "lib/q.js"),
        ("perl -e 'use strict; print' log", "X.pm"),
        ("perl -ne 'print if /use X/' log", "lib/X.pm"),
    ],
)
def test_what_code_does_not_load_may_change(line: str, name: str) -> None:
    """Nobody is asked again because of it."""
    with TemporaryDirectory() as folder:
        place = Path(folder)
        for one in TREE:
            written(place, one, "good\n")
        plan = planned(request(line, cwd=folder))
        written(place, name, "changed\n")

        assert not drifts(plan)


@rows(
    "code, names",
    [
        ("import a", "a/__init__.py a.py"),
        ("import a as b, c", "a/__init__.py a.py c/__init__.py c.py"),
        ("if x:\n  from a.b import *", "a/__init__.py a.py a/b/__init__.py a/b.py"),
        ("from a import b as c", "a/__init__.py a.py a/b/__init__.py a/b.py"),
        ("x = 'imports'", ""),
        ("important = 1", ""),
        ("import_module(name)", ""),
    ],
)
def test_what_python_would_look_for(code: str, names: str) -> None:
    """Each name once, and no module that only `-m` runs."""
    found = [one for one in imported_by((code,)) if one.endswith(".py")]

    assert " ".join(found) == names


@rows(
    "language, code, names",
    [
        ("ruby", "require './x'", "./x.rb ./x.so"),
        ("ruby", "require_relative('x.rb')", "x.rb x.so"),
        ("ruby", "$:.unshift 'lib'; require 'x'", "x.rb x.so lib/x.rb lib/x.so"),
        ("ruby", "$LOAD_PATH << 'lib'\nload 'x.rb'", "x.rb x.so lib/x.rb lib/x.so"),
        ("ruby", "autoload :X, '/abs/x'", "/abs/x.rb /abs/x.so"),
        ("ruby", "required = 'x'", ""),
        ("perl", "use A::B qw(c)", "A/B.pmc A/B.pm"),
        ("perl", "use lib qw(d); require B", "B.pmc B.pm d/B.pmc d/B.pm"),
        ("perl", "reuse X", ""),
    ],
)
def test_what_perl_and_ruby_would_look_for(language: str, code: str, names: str) -> None:
    """As for their options."""
    assert " ".join(modules_of(language, (), (code,))) == names


@pytest.mark.parametrize(
    "part",
    [
        *("import a, ", "import a as ", "from a import b, ", "from ", "import ", "a.", "import a."),
        *(
            "require(",
            "require((a)",
            "require('",
            "use A::",
            "use lib '",
            "autoload :a, ",
            "__import__(",
            "@INC",
        ),
        *("sys.path", "import ('a'", "require '"),
    ],
)
def test_a_text_of_one_repeated_part_takes_no_time(part: str) -> None:
    """No part may be read in two ways: trying all of them would take for ever."""
    text = part * (100_000 // len(part))
    start = time.process_time()
    for _ in loaded_by_any((text, f"import {text}", f"from {text}", f"use {text}")):
        pass
    list(searched_in(text))

    assert time.process_time() - start < 5
