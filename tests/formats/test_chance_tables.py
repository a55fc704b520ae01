from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kgtrec.collection.questions import build_questions
from kgtrec.data.scores import ChanceTable
from kgtrec.errors import FormatError, KgtrecWarning
from kgtrec.evaluation.chance import chance_table
from kgtrec.formats.chance_tables import chance_csv, read_chance_table, shipped_chance_tables, write_chance_table
from kgtrec.formats.triples import find_splits, read_triples

FOLDERS = {
    "nations": "small/nations",
    "kinships": "small/kinships",
    "umls": "small/umls",
    "fb15k-237": "fb15k-237",
    "wn18rr": "wn18rr",
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name == "fb15k-237" else ()) for name in sorted(FOLDERS)]
)
def test_shipped_tables_are_what_the_data_sets_give(data: Path, name: str):
    """Each number of the package comes out of the data set's triples again."""
    collection = build_questions(*(read_triples(path) for path in find_splits(data / FOLDERS[name])))
    found, shipped = chance_table(collection), read_chance_table(name)
    assert (found.measure, found.side) == (shipped.measure, shipped.side)
    np.testing.assert_array_equal(found.items, shipped.items)
    np.testing.assert_allclose(found.expectation, shipped.expectation, rtol=1e-12)
    np.testing.assert_allclose(found.variance, shipped.variance, rtol=1e-9)


def test_every_shipped_table_is_tested():
    """None is in the package that no data set stands behind."""
    assert shipped_chance_tables() == sorted(FOLDERS)


def test_a_table_reads_back_exactly(tmp_path: Path):
    """Full precision; undefined stays undefined."""
    table = ChanceTable.of([("micro.MR", "both", 3, 1 / 3, np.nan), ("AP@20", "head", 1, 1e-300, 2.0)])
    write_chance_table(tmp_path / "c.csv", table)
    found = read_chance_table(tmp_path / "c.csv")
    assert chance_csv(found) == chance_csv(table)
    assert found.level("AP@20", "head") == (1e-300, 2.0)
    assert np.isnan(found.level("micro.MR", "both")[1])


def test_a_bare_name_in_a_table_of_others_is_over_answers(tmp_path: Path):
    """So that kgtrec published adjust finds it as micro.MRR."""
    path = tmp_path / "chance.csv"
    path.write_text("measure,side,items,expectation,variance\nMRR,both,10,0.1,0.01\nMRR,tail,10,0.2,0.01\n")
    with pytest.warns(KgtrecWarning, match=r"read MRR as micro\.MRR, over answers"):
        assert read_chance_table(path).level("micro.MRR", "tail") == (0.2, 0.01)


def test_an_unknown_data_set_has_its_neighbours():
    """A typo is not a missing file alone."""
    with pytest.raises(FormatError, match="no such file, and no data set of that name; did you mean fb15k-237"):
        read_chance_table("fb15k")
