import pytest

from core.programs.profiles.load_profiles import profile_of
from tests.support.tables import rows

SMALL = profile_of(
    {
        "flags": "-a -b --all",
        "values": {"integer": "-n --number"},
        "optional": {"word": "-c --colour"},
        "operands": 1,
    }
)


@rows(
    "arguments",
    [
        [],
        ["-ab"],
        ["-an5"],
        ["-n", "5"],
        ["--number=5"],
        ["--colour"],
        ["--colour=x"],
        ["-cx", "f"],
    ],
)
def test_listed_spellings_pass(arguments: list[str]) -> None:
    """Clusters, glued values and both long forms are understood."""
    assert SMALL.problem(arguments) is None


@rows(
    "arguments, word",
    [
        (["-x"], "-x"),
        (["-ax"], "-x"),
        (["-nx"], "-n"),
        (["-n"], "lacks"),
        (["--num=5"], "--num"),
        (["--al"], "--al"),
        (["--all=1"], "--all"),
        (["--", "f", "g"], "'g'"),
        (["f", "g"], "'g'"),
        (["--", "-x", "y"], "'y'"),
    ],
)
def test_all_else_is_named(arguments: list[str], word: str) -> None:
    """Unknown options, abbreviations, bad values and surplus operands are refused by name."""
    problem = SMALL.problem(arguments)
    assert problem is not None
    assert word in problem


def test_an_unknown_value_kind_stops_the_load() -> None:
    """A typo in the data fails when the table is loaded."""
    with pytest.raises(KeyError):
        profile_of({"values": {"nmber": "-n"}})


def test_a_key_that_means_nothing_stops_the_load() -> None:
    """A misspelled `needs` would accept what lacks the option."""
    with pytest.raises(ValueError, match=r"required means nothing; known: .*needs"):
        profile_of({"flags": "-t", "required": "-t"})


def test_an_option_that_is_both_stops_the_load() -> None:
    """An option cannot need a value and take none: the rest would be read wrongly."""
    with pytest.raises(ValueError, match="-n"):
        profile_of({"flags": "-n", "values": {"integer": "-n"}})


def test_modes_that_name_no_option_stop_the_load() -> None:
    """A typo in a group of modes would let the real option cancel the harmless one."""
    with pytest.raises(ValueError, match="--dcompress"):
        profile_of({"flags": "-t", "modes": {"last": "-t|--dcompress"}})


@rows(
    "profile, accepted, refused",
    [
        ({"flags": "-t -x", "needs": "-t"}, [["-t"], ["-xt"]], [[], ["-x"]]),
        ({"flags": "-a -b -c", "needs": "-a|-b -c"}, [["-bc"]], [["-ab"], ["-c"]]),
        ({"flags": "-name -ls", "single": True}, [["-name"], ["-ls"]], [["-nl"], ["--", "-name"]]),
        ({"flags": "-ls", "single": True, "operands": -1}, [["x", "-ls"]], [["--", "x", "-rm"]]),
        (
            {"flags": "-t", "values": {"any": "-f"}, "operands": -1, "bundle": True},
            [["tf", "a"], ["-tfI", "a", "b"]],
            [["ft", "a"], ["tfI", "a", "b"]],
        ),
        (
            {"flags": "-a", "values": {"any": "-P"}, "operands": 1, "apart": True},
            [["-aP", "x", "f"]],
            [["-Pa", "x", "f"], ["-Po"]],
        ),
        ({"flags": "-a", "operands": -1, "ordered": True}, [["-a", "x"]], [["x", "-a"]]),
        ({"operands": 1, "counts_dash": True}, [["-"], ["x"]], [["-", "x"], ["-", "-"]]),
        ({"operands": 2, "first": "integer"}, [["5", "x"], ["5"]], [["x"], [], ["-", "x"]]),
        ({"values": {"any": "-d"}}, [["-d", "x"], ["-d-x"]], [["-d", "--out=x"], ["-d"]]),
        (
            {"flags": "-t -d -c", "modes": {"last": "-t|-d"}, "needs": "-t|-c"},
            [["-t"], ["-dt"], ["-d", "-t"], ["-cd"], ["-t", "-c", "-d"]],
            [["-td"], ["-t", "-d"], ["-d"], ["-dtd"]],
        ),
        (
            {"flags": "-t -d", "modes": {"first": "-t|-d"}, "needs": "-t"},
            [["-td"], ["-t"]],
            [["-dt"], ["-d"]],
        ),
        (
            {"flags": "-t -d", "modes": {"alone": "-t|-d"}, "needs": "-t"},
            [["-t"], ["-tt"]],
            [["-td"], ["-dt"], ["-d"]],
        ),
        ({"operands": -1, "least": 1}, [["x"], ["-"], ["--", "-x"]], [[], ["--"]]),
        (
            {"flags": "-e -s", "operands": 2, "least": 2, "least_then": 1, "sparing": "-s"},
            [["a", "b"], ["-s", "a"]],
            [["a"], ["-e", "a"], ["-s"]],
        ),
    ],
)
def test_each_shape_of_arguments(
    profile: dict[str, object], accepted: list[list[str]], refused: list[list[str]]
) -> None:
    """Each key of a profile allows what it says and nothing else."""
    built = profile_of(profile)
    assert [one for one in accepted if built.problem(one) is not None] == []
    assert [one for one in refused if built.problem(one) is None] == []
