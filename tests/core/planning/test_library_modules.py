"""Find the files that perl and ruby may load for the modules that options name."""

import shlex

import pytest

from core.planning.library_modules import modules_of
from tests.support.tables import rows


@rows(
    "language, words, files",
    [
        ("perl", "-MTool -e 1", "Tool.pmc Tool.pm"),
        ("perl", "-I. -mTool -e 1", "Tool.pmc Tool.pm ./Tool.pmc ./Tool.pm"),
        ("perl", "-I lib -wMA::B=x -e 1", "A/B.pmc A/B.pm lib/A/B.pmc lib/A/B.pm"),
        ("perl", "'-Mlib qw(a)' -M-B -e 1", "B.pmc B.pm a/B.pmc a/B.pm"),
        ("perl", '-Mlib=a,b -M"A\'B"', "A/B.pmc A/B.pm a/A/B.pmc a/A/B.pm b/A/B.pmc b/A/B.pm"),
        ("perl", "-Mblib -MB", "B.pmc B.pm blib/lib/B.pmc blib/lib/B.pm"),
        ("perl", "-d:T x.pl", "Devel/T.pmc Devel/T.pm"),
        ("perl", "-dt:A::T=x x.pl", "Devel/A/T.pmc Devel/A/T.pm"),
        ("perl", "-MIO::Tool -e 1", "IO/Tool.pmc IO/Tool.pm"),
        ("perl", "-lMTool -e 1", "Tool.pmc Tool.pm"),
        ("perl", "-l012MTool -e 1", "Tool.pmc Tool.pm"),
        ("perl", "-0777nMTool -e 1", "Tool.pmc Tool.pm"),
        ("perl", "-CSDMTool -e 1", "Tool.pmc Tool.pm"),
        ("perl", "-lIlib -MTool -e 1", "Tool.pmc Tool.pm lib/Tool.pmc lib/Tool.pm"),
        ("perl", "-MImager -e 1", "Imager.pmc Imager.pm"),
        ("perl", "-ne print log", ""),
        ("perl", "-I. x.pl log", ""),
        ("ruby", "-rtool -e 1", "tool.rb tool.so"),
        ("ruby", "-Ia:b -r tool", "tool.rb tool.so a/tool.rb a/tool.so b/tool.rb b/tool.so"),
        ("ruby", "-I a --require=tool x.rb", "tool.rb tool.so a/tool.rb a/tool.so"),
        ("ruby", "-rother x.rb", "other.rb other.so"),
        ("ruby", "-W2rtool -e 1", "tool.rb tool.so"),
        ("ruby", "-0rtool -e 1", "tool.rb tool.so"),
        ("ruby", "-r/abs/tool x.rb", ""),
        ("ruby", "x.rb log", ""),
    ],
)
def test_what_is_looked_for(language: str, words: str, files: str) -> None:
    """In the order in which it is tried, the working folder first."""
    assert list(modules_of(language, shlex.split(words))) == files.split()


@pytest.mark.parametrize("word", ["-" + "Ca" * 8_000, "-" + "0l" * 8_000, "-" + "C" * 16_000])
def test_a_word_of_many_options_takes_no_time(word: str) -> None:
    """No letter may be read in two ways: trying all of them would take for ever."""
    assert not [*modules_of("perl", (word,))]


def test_of_many_the_first_are_looked_for() -> None:
    """Thirty-two modules in as many folders."""
    words = [f"-{letter}{one}" for one in range(4_000) for letter in ("If", "Mm")]

    assert len(list(modules_of("perl", words))) == 32 * 32 * 2
