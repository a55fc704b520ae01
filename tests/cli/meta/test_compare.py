"""kgtrec meta compare, on a collection with names that mean trouble."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.program import kgtrec, printed_by, refusal

TRIPLES = [("a", "likes", "b"), ("b", "likes", "c"), ("c", "knows", "d"), ("d", "knows", "a"), ("a", "knows", "ü")]
NAMES = "a\t<script>alert(1)</script>\nb\tZürich \x1b[31m\nc\t知识\n"


@pytest.fixture
def files(tmp_path, capsys) -> list[str]:
    """A collection, two runs of it, and a file of names."""
    (tmp_path / "train.tsv").write_text("".join(f"{h}\t{r}\t{t}\n" for h, r, t in TRIPLES[:2]))
    (tmp_path / "valid.tsv").write_text("d\tlikes\ta\n")
    (tmp_path / "test.tsv").write_text("".join(f"{h}\t{r}\t{t}\n" for h, r, t in TRIPLES[2:]))
    (tmp_path / "names.tsv").write_text(NAMES)
    folder = str(tmp_path / "C")
    kgtrec("questions", *(str(tmp_path / f"{name}.tsv") for name in ("train", "valid", "test")), "--out", folder)
    for name, baseline in (("one", "popularity"), ("other", "random")):
        kgtrec("rank", folder, "--baseline", baseline, "--out", tmp_path / name)
        next((tmp_path / name).glob("*.ranks.parquet")).rename(tmp_path / f"{name}.ranks.parquet")
    capsys.readouterr()
    return [folder, str(tmp_path / "one.ranks.parquet"), str(tmp_path / "other.ranks.parquet")]


def test_the_page_has_every_part(files, capsys):
    """Measures, sides, categories, relations and questions; names on one line, without signs that steer a terminal."""
    names = str(Path(files[0]).parent / "names.tsv")
    shown = printed_by(capsys, "meta", "compare", *files, "--names", names, "--resamples", "20")
    for part in (
        "one against other",
        "micro.MRR by side",
        "micro.MRR by category",
        "micro.MRR by relation: ",
        "questions that differ most by micro.MRR",
    ):
        assert part in shown
    assert "<script>alert(1)</script>" in shown
    assert "\x1b" not in shown
    assert "(?, knows, " in shown


def test_lower_is_better_where_it_is(files, capsys):
    """The page says so, and every table names the better system."""
    kgtrec("meta", "compare", *files, "-m", "micro.MR micro.MRR", "--by", "micro.MR", "--resamples", "20")
    shown = capsys.readouterr().out
    assert "one is better; lower is better under micro.MR, so a positive difference is in favour of the second" in shown
    rows = [line.split() for line in shown.splitlines()]
    header = next(row for row in rows if row[:1] == ["measure"])
    at = header.index("better") - 1  # "95% from" is of two words
    for row in (row for row in rows if row[:1] in (["micro.MR"], ["micro.MRR"]) and row[1] != "by"):
        apart = float(row[3]) * (-1 if row[0] == "micro.MR" else 1)
        assert row[at] == ("one" if apart > 0 else "other" if apart < 0 else "-")
    assert sum("better" in row for row in rows) == 6  # the head; measures, side, category, relation and questions
    kgtrec("meta", "compare", *files, "-m", "micro.MRR", "--resamples", "20")
    assert "lower is better" not in capsys.readouterr().out


def test_json_holds_all_tables(files, tmp_path):
    """Strict JSON; names as they are; sums agree."""
    out = tmp_path / "compare.json"
    names = str(Path(files[0]).parent / "names.tsv")
    kgtrec("meta", "compare", *files, "-m", "micro.MRR micro.MedianRank", "--names", names, "--out", out)
    found = json.loads(out.read_text(), parse_constant=lambda sign: pytest.fail(f"{sign} is no JSON"))
    assert set(found) == {
        "first",
        "second",
        "by",
        "confidence",
        "measures",
        "side",
        "category",
        "relation",
        "questions",
    }
    assert found["measures"][1]["p"] is None
    for kind in ("side", "category", "relation"):
        own = [record for record in found[kind] if record["measure"] == "micro.MRR"]
        assert sum(record["wins"] for record in own) == found["measures"][0]["wins"]
    assert {record["name"] for record in found["questions"]} & {"<script>alert(1)</script>", "知识", "Zürich \x1b[31m"}


@pytest.mark.parametrize("table", ["measures", "side", "category", "relation", "questions"])
def test_csv_and_latex_hold_one_table(files, table, capsys):
    kgtrec("meta", "compare", *files, "-m", "micro.MRR", "--resamples", "20", "--format", "csv", "--table", table)
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert rows
    assert all(row["measure"] == "micro.MRR" for row in rows)
    kgtrec("meta", "compare", *files, "-m", "micro.MRR", "--resamples", "20", "--format", "latex", "--table", table)
    assert r"\bottomrule" in capsys.readouterr().out


def test_a_seed_gives_the_same_bytes(files, capsys):
    seen = []
    for seed in ("0", "0", "1"):
        kgtrec("meta", "compare", *files, "-m", "micro.MRR", "--resamples", "50", "--format", "json", "--seed", seed)
        seen.append(capsys.readouterr().out)
    assert seen[0] == seen[1]
    assert seen[0] != seen[2]


def test_qrels_alone_have_no_relations(files, tmp_path, capsys):
    """Which is said; with a collection beside them they are there."""
    qrels = str(Path(files[0], "qrels.txt"))
    asked = ["meta", "compare", qrels, *files[1:], "-m", "AP@5", "--format", "csv", "--table", "relation"]
    assert "expected --collection together with --table relation" in refusal(capsys, *asked)
    assert printed_by(capsys, *asked, "--collection", files[0]).startswith("measure,relation,n_items,")
    kgtrec("meta", "compare", qrels, *files[1:], "-m", "AP@5", "--names", tmp_path / "names.tsv")
    assert "知识" in capsys.readouterr().out


def test_one_table_is_printed_in_any_form(files, capsys):
    """Text of it alone; JSON with what was compared."""
    asked = ["meta", "compare", *files, "-m", "micro.MRR", "--resamples", "20", "--table", "side"]
    assert printed_by(capsys, *asked).startswith("micro.MRR by side\nside ")
    kgtrec(*asked, "--format", "json")
    assert set(json.loads(capsys.readouterr().out)) == {"first", "second", "by", "confidence", "side"}


def test_what_shows_no_row_is_left_out(files, capsys):
    kgtrec("meta", "compare", *files, "-m", "micro.MRR", "--resamples", "20", "--relations", "0", "--top", "0")
    shown = capsys.readouterr().out
    assert "by relation" not in shown
    assert "questions that differ most" not in shown
