"""kgtrec explore: the page and the tables of one question."""

from __future__ import annotations

from contextlib import chdir
from pathlib import Path

import pytest

from kgtrec.cli import main
from tests.explore.reading import Page

ROOT = Path(__file__).parents[2]


def exit_code(words: str) -> int:
    try:
        main(words.split())
    except SystemExit as leaving:
        return int(leaving.code or 0)
    return 0


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A collection of a small graph, and two systems with answer ranks and runs."""
    folder = tmp_path_factory.mktemp("explore")
    with chdir(folder):
        for words in (
            f"questions {ROOT / 'examples' / 'cities'} --out C",
            "rank C --baseline rules --out ranks",
            "rank C --baseline popularity --out ranks",
        ):
            assert exit_code(words) == 0
    (folder / "names.tsv").write_text("entity\tname\ngermany\tFederal Republic\n")
    return folder


def test_a_folder_is_taken_as_it_is(folder, tmp_path, capsys):
    """Ranks and runs of one name are one system; names are shown; the page is that of Python."""
    import kgtrec

    with chdir(folder):
        out = tmp_path / "why.html"
        assert exit_code(f"explore C ranks --names names.tsv --depth 3 --out {out}") == 0
        assert capsys.readouterr().err == f"wrote {out}\n"
        names = {"germany": "Federal Republic"}
        assert out.read_text() == kgtrec.explore("C", "ranks", names=names, depth=3).to_html()
    page = Page(out.read_text())
    assert (page.data["systems"], page.data["depth"]) == (["popularity", "rules"], 3)
    assert "Federal Republic" in page.slice("entities")["name"]


def test_one_question_in_the_terminal(folder, capsys):
    """Its tables, or one of them in any form."""
    with chdir(folder):
        assert exit_code("explore C ranks --question tail9 --depth 2 --names names.tsv") == 0
        printed = capsys.readouterr().out
        assert "= Federal Republic (test answer)" in printed
        assert "AP@20" in printed
        assert exit_code("explore C ranks -m RR --question tail9 --table values --format csv") == 0
    assert capsys.readouterr().out.splitlines() == [
        "labels,measure,system,value",
        "test answers,RR,popularity,0.75",
        "test answers,RR,rules,1.0",
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("explore C ranks", "--out: expected a name that ends in .html for the page, found none"),
        ("explore C ranks --out why.csv", "--out: expected a name that ends in .html for the page, found why.csv"),
        ("explore C ranks --format csv --out why.html", "expected --question ID together with --format or --table"),
        ("explore C ranks --question tail99", "expected a question of the collection, such as head0, found 'tail99'"),
        ("explore C/qrels.txt ranks --out why.html", "C/qrels.txt: expected the folder of a collection"),
    ],
)
def test_what_is_refused(folder, capsys, words, message):
    """With the way out; nothing is written."""
    with chdir(folder):
        assert exit_code(words) == 2
        assert message in capsys.readouterr().err
        assert not Path("why.html").exists()
