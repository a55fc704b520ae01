"""What results show in a notebook."""

from __future__ import annotations

import ast
from pathlib import Path

import html5lib
import numpy as np
import pyarrow as pa
import pytest

import kgtrec
from kgtrec.collection.questions import questions_of
from kgtrec.data.pool import Pool
from kgtrec.data.table import Code, Column, Facts, Items, Report, Result, Section, Table, Text
from kgtrec.data.triples import Triples
from kgtrec.report.show import result_html
from tests.report.sample import all_figures

PACKAGE = Path(kgtrec.__file__).parent


class Shown(Result):
    """A result of the tables that a test gives."""

    def __init__(self, *tables: Table) -> None:
        self.own = tables

    def tables(self) -> tuple[Table, ...]:
        return self.own


def rows_of(text: str) -> list[list[str]]:
    """The texts of the cells, row by row, as a browser reads them."""
    found = html5lib.parseFragment(text, namespaceHTMLElements=False)
    return [["".join(cell.itertext()) for cell in row] for row in found.iter("tr")]


@pytest.mark.slow
def test_every_result_shows_itself():
    """Each class that gives tables is a `Result`, which a notebook asks for HTML; reports have a page of their own."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and any(getattr(one, "name", "") == "tables" for one in node.body):
                found[node.name] = [ast.unparse(base) for base in node.bases]
    assert len(found) > 20
    without = {name for name, bases in found.items() if not {"Result", "PlottedResult"} & set(bases)}
    assert without == {"Result", "Report"}


def test_scores_are_a_table_with_the_best_in_bold():
    """The numbers are those of the text."""
    qrels, runs = {"q": {"a": 1, "b": 1}}, {"x": {"q": {"a": 0.5, "c": 0.7}}, "y": {"q": {"b": 3.0, "a": 1.0}}}
    text = kgtrec.evaluate(qrels, runs, "RR AP@20")._repr_html_()
    assert rows_of(text) == [["system", "RR", "AP@20"], ["x", "0.5000", "0.2500"], ["y", "1.0000", "1.0000"]]
    assert text.count("<strong>1.0000</strong>") == 2


def test_print_shows_what_the_command_prints():
    """And repr one line."""
    qrels = {"q1": {"a": 1}, "q2": {"b": 1}}
    scores = kgtrec.evaluate(qrels, {"mine": {"q1": {"a": 2.0, "x": 1.0}, "q2": {"x": 2.0, "b": 1.0}}}, "RR AP@20")
    assert str(scores) == "system      RR   AP@20\nmine    0.7500  0.7500"
    assert repr(scores) == "<Scores: 1 systems x 2 measures>"


def test_labels_are_text():
    """Markup in a label, a heading and a caption stays text."""
    hostile = "<script>alert(1)</script> & \"'"
    table = Table(
        "t", "T", hostile, pa.table({"system": [hostile], "x": [0.5]}), (Column("system", hostile), Column("x"))
    )
    text = result_html(Shown(table))
    assert "<script" not in text
    assert rows_of(text) == [[hostile, "x"], [hostile, "0.5000"]]


def test_a_long_table_is_cut_and_says_so():
    """At 40 rows, before a million of them are laid out; what is best of all is then not marked."""
    columns = (Column("system"), Column("RR", better="higher"))
    for n in (41, 1_000_000):
        data = pa.table({"system": [f"s{nth % 50}" for nth in range(n)], "RR": np.linspace(0, 1, n)})
        text = result_html(Shown(Table("t", "T", "", data, columns)))
        assert len(rows_of(text)) == 41
        assert "The first rows" in text
        assert "<strong>" not in text


def test_an_empty_result_shows_its_headings():
    """And none of its tables without rows where others have some."""
    empty = Table("t", "Nothing", "", pa.table({"system": pa.array([], pa.string())}))
    assert rows_of(result_html(Shown(empty))) == [["system"]]
    full = Table("u", "Something", "", pa.table({"system": ["a"]}))
    assert "Nothing" not in result_html(Shown(empty, full))


def test_a_pool_shows_its_summary():
    """What it has, by run; nothing of known answers, which it does not hold."""
    triples = Triples.of([("ann", "likes", "tea"), ("ann", "likes", "<jam>")])
    asked = questions_of(triples)
    tail0 = np.full(3, list(asked.ids).index("tail0"))
    pool = Pool.of(triples, np.array([0, 1, 1]), tail0, np.array([0, 0, 1]), np.array([1, 2, 1]), ["a", "<b>"], asked)
    rows = rows_of(pool._repr_html_())
    assert ["triples", "2"] in rows
    assert [row[:3] for row in rows if row[0] in pool.runs][:2] == [["<b>", "-", "1"], ["a", "-", "2"]]
    assert not [row for row in rows if "known answers" in row]


def test_a_report_shows_its_first_section():
    """Text is text; the other sections are named, and not shown."""
    blocks = (
        Text(("a is <best>.",)),
        Items(("one", "<two>")),
        Code("kgtrec <x>"),
        Facts((("systems", "2"),)),
        Table("t", "T", "", pa.table({"system": ["<s>"]})),
        all_figures()["slope_chart"],
    )
    report = Report("<Study>", (Section("summary", "In short", blocks), Section("rest", "Rest", (Text(("No.",)),))))
    text = report._repr_html_()
    found = html5lib.parseFragment(text, namespaceHTMLElements=False)
    texts = [node.text for node in found.iter() if node.tag in ("h3", "li", "pre", "td")]
    assert texts == ["<Study>", "one", "<two>", "kgtrec <x>", "<s>"]
    assert "".join(found.find("p").itertext()) == "a is <best>."
    assert len(list(found.iter("figure"))) == 1
    assert "No." not in text
    assert "The first of 2 sections" in text
