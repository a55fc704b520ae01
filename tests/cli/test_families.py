"""--family of kgtrec evaluate, meta power and meta compare."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.cli.meta.test_power import written
from tests.program import kgtrec, printed_by, refusal

PLACES = {
    "one.s1": (1, 1, 2, 1, 3, 2),
    "one.s2": (2, 1, 3, 2, 4, 2),
    "two.s1": (2, 2, 3, 4, 4, 2),
    "two.s2": (3, 1, 3, 2, 4, 1),
    "three": (4, 4, 5, 3, 4, 5),
}


@pytest.fixture
def files(tmp_path) -> list[str]:
    """Qrels, and runs of three families."""
    return written(tmp_path, PLACES)


def test_evaluate_shows_a_row_per_family(files, capsys):
    """Seeds of 13/18 and 37/72, and of 7/18 and 41/72; a single one has no deviation."""
    assert printed_by(capsys, "evaluate", *files, "-m", "RR", "--family", "seeds", "--sort", "RR") == (
        "system  seeds               RR\n"
        "one         2  0.6181 ± 0.1473\n"
        "two         2  0.4792 ± 0.1277\n"
        "three       1           0.2472\n"
    )


def test_power_shows_letters_and_pairs(files, capsys):
    """The same families by patterns, and each pair by two tests."""
    kgtrec("meta", "power", *files, "-m", "RR", "--family", "one*=one", "--family", "two*=two")
    out = capsys.readouterr().out
    assert "RR       one         2  0.6181 ± 0.1473 a" in out
    assert out.count("t, seeds and questions") == out.count("t, best seeds") == 3
    kgtrec("meta", "power", *files, "-m", "RR", "--family", "seeds", "--table", "pairs", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["test"] for row in rows] == ["seeds", "best"] * 3


def test_compare_takes_the_seeds_of_two(files, capsys):
    """And a file of families; the difference is that of the means."""
    family = Path(files[0]).with_name("families.tsv")
    family.write_text("run\tfamily\n" + "".join(f"{name}\t{name[:3]}\n" for name in list(PLACES)[:4]))
    kgtrec("meta", "compare", *files[:5], "-m", "RR", "--family", str(family), "--format", "json")
    found = json.loads(capsys.readouterr().out)
    assert found["systems"] == ["one", "two"]
    assert found["pairs"][0]["difference"] == pytest.approx(5 / 36)
    assert "two families to compare, found 3: one, two, three" in refusal(
        capsys, "meta", "compare", *files, "-m", "RR", "--family", "seeds"
    )


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("evaluate", "--family", "one"), "seeds, PATTERN=NAME (such as 'transe*=transe') or a file, found 'one'"),
        (("evaluate", "--family", "sed"), "or a file, found 'sed'; did you mean seeds?"),
        (("evaluate", "--family", "one*=three"), "expected another name for the family 'three'"),
        (("meta power", "--family", "*=all"), "expected at least two families to distinguish, found 1: all"),
        (
            ("meta compare",),
            "two systems to compare, found 5; name two, or compare two models with all seeds of each (--f",
        ),
    ],
)
def test_a_wrong_family_is_refused_with_a_way_out(files, arguments, expected, capsys):
    """Before anything is scored."""
    command, *options = arguments
    assert expected in refusal(capsys, *command.split(), *files, "-m", "RR", *options)


def test_a_line_of_a_file_of_families_is_named(files, capsys):
    """Of a run that is not there, and of one without family."""
    family = Path(files[0]).with_name("families.tsv")
    for line, expected in (
        ("one.s9\tone", "found 'one.s9'; did you mean"),
        ("one.s1 one", "expected a tab and a family"),
    ):
        family.write_text(f"run\tfamily\none.s1\tone\n{line}\n")
        assert f"families.tsv:3: {expected}" in refusal(capsys, "evaluate", *files, "--family", family).replace(
            "expected runs that are given, ", ""
        )


def test_what_families_cannot_be_combined_with(files, capsys):
    """Resampled tests, orders of ties, and the table of families without them."""
    assert "--test" in refusal(capsys, "meta", "power", *files, "--family", "seeds", "--test", "tukey")
    assert "--family" in refusal(capsys, "evaluate", *files, "--ties", "all", "--family", "seeds")
    assert "expected --family together with --table families" in refusal(
        capsys, "meta", "power", *files, "-m", "RR", "--table", "families"
    )
