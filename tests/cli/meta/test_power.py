"""kgtrec meta power, and what it writes."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from kgtrec.report.records import tables_json
from tests.program import kgtrec, printed_by, refusal

QRELS = "".join(f"q{place} 0 a{place} 1\n" for place in range(6))
PLACES = {"eins": (1, 1, 2, 1, 3, 2), "zwei_ü": (2, 1, 3, 2, 4, 2), "drei<b>": (2, 1, 3, 2, 4, 2)}


@pytest.fixture
def files(tmp_path) -> list[str]:
    """Qrels and three runs, two of which are the same."""
    return written(tmp_path, PLACES)


def written(folder: Path, places_of: Mapping[str, Sequence[int]]) -> list[str]:
    """Qrels and runs; one answer a question, at some place of the list."""
    (folder / "qrels.txt").write_text(QRELS)
    paths = [str(folder / "qrels.txt")]
    for name, places in places_of.items():
        lines = []
        for question, place in enumerate(places):
            entities = [f"x{number}" for number in range(1, place)] + [f"a{question}"]
            lines += [f"q{question} Q0 {entity} 0 {-rank} t\n" for rank, entity in enumerate(entities)]
        (folder / f"{name}.run").write_text("".join(lines))
        paths.append(str(folder / f"{name}.run"))
    return paths


def test_the_table_shows_shares_and_area(files, capsys):
    """Reciprocal ranks of the first differ from those of the second by 1/2, 0, 1/6, 1/2, 1/12, 0: t 2.18, p 0.0812."""
    assert printed_by(capsys, "meta", "power", *files[:3], "-m", "RR", "--alpha", "0.1") == (
        "1 pair of 2 systems; two-tailed, alpha 0.1; area: of the curve of p-values, less is better\n"
        "\n"
        "measure  test  items  p < 0.1   share  adjusted   share    area  smallest found  largest missed\n"
        "RR       t         6        1  100.0%         1  100.0%  0.0812          0.2083               -\n"
    )


def test_pairs_are_shown_as_on_the_curve(files, capsys):
    """A pair without variance is told, has a dash, and comes last; 0 of 20 samples is less than a twentieth."""
    kgtrec("meta", "power", *files, "-m", "RR", "--test", "t", "--test", "tukey", "--repeats", "20", "--table", "pairs")
    shown = capsys.readouterr()
    assert "warning: RR has no variance for 1 of 3 pairs of systems, such as zwei_ü and drei<b>" in shown.err
    lines = shown.out.splitlines()
    assert lines[2].split() == [
        "measure",
        "first",
        "second",
        "better",
        "test",
        "difference",
        "d_z",
        "d",
        "pooled",
        "p",
        "adjusted",
    ]
    assert lines[-2].split() == ["RR", "zwei_ü", "drei<b>", "t", "0.0000", "-", "0.000", "-", "-"]
    assert lines[-1].split() == ["RR", "zwei_ü", "drei<b>", "Tukey", "HSD", "0.0000", "-", "0.000", "1.0000", "1.0000"]
    assert "lower is better" not in shown.out


def test_the_better_system_of_a_pair_is_named(files, capsys):
    """The first has the lower ranks: a negative difference of ranks, in its favour."""
    shown = printed_by(capsys, "meta", "power", *files[:3], "-m", "macro.MR RR", "--test", "t", "--table", "pairs")
    assert "; lower is better under macro.MR, so a positive difference is in favour of the second\n" in shown
    rows = [line.split()[1:6] for line in shown.splitlines() if " eins " in line]
    assert rows == [["eins", "zwei_ü", "eins", "t", "-0.6667"], ["eins", "zwei_ü", "eins", "t", "0.2083"]]


def test_csv_and_json_hold_the_same_digits(files, tmp_path, capsys):
    """JSON that a strict parser takes, null where there is no p; CSV of pairs has the same numbers."""
    asked = "meta", "power", *files, "-m", "RR P@1", "--test", "t bootstrap", "--repeats", "20"
    kgtrec(*asked, "--out", tmp_path / "power.json")
    text = (tmp_path / "power.json").read_text(encoding="utf-8")
    found = json.loads(text, parse_constant=lambda sign: pytest.fail(f"{sign} is no JSON"))
    assert found["systems"] == list(PLACES)
    rows = list(csv.DictReader(io.StringIO(printed_by(capsys, *asked, "--table", "pairs", "--format", "csv"))))
    assert len(rows) == len(found["pairs"]) == 2 * 3 * 2
    for row, record in zip(rows, found["pairs"], strict=True):
        assert row["p"] == ("" if record["p"] is None else repr(record["p"]))
        assert row["first"] == record["first"]
    assert [record["p"] for record in found["pairs"] if record["second"] == "drei<b>"][2:4] == [None, None]
    kgtrec("meta", "power", *files, "-m", "RR", "--format", "csv")
    assert capsys.readouterr().out.startswith("measure,test,items,n_items,")


def test_latex_escapes_names(files, capsys):
    kgtrec("meta", "power", *files, "-m", "RR", "--test", "t", "--format", "latex", "--table", "pairs")
    shown = capsys.readouterr().out
    assert r"eins & zwei\_ü & eins & t & 0.2083" in shown
    assert r"drei\textless{}b\textgreater{}" in shown
    assert r"\toprule" in printed_by(capsys, "meta", "power", *files, "-m", "RR", "--test", "t", "--format", "latex")


def test_a_seed_and_any_number_of_workers_give_the_same_bytes(files, capsys):
    seen = []
    for workers, seed in (("1", "0"), ("3", "0"), ("1", "1")):
        how = "--test", "bootstrap tukey", "--repeats", "50", "--format", "json", "--workers", workers, "--seed", seed
        seen.append(printed_by(capsys, "meta", "power", *files, "-m", "RR P@1", *how))
    assert seen[0] == seen[1]
    assert seen[0] != seen[2]


def test_workers_or_a_scheduler(files, capsys):
    """Not both, in either order."""
    for options in (["--workers", "2", "--scheduler", "tcp://h:1"], ["--scheduler", "tcp://h:1", "--workers", "2"]):
        assert "expected --workers or --scheduler, found both" in refusal(capsys, "meta", "power", *files, *options)


def test_one_system_is_refused(files, capsys):
    assert "expected at least two systems to distinguish, found 1" in refusal(capsys, "meta", "power", *files[:2])


def test_json_has_no_numbers_that_json_lacks():
    """NaN and infinities are null, labels stay as they are, an empty table is an empty list."""
    import pyarrow as pa

    table = pa.table({"label": ["</script>\u2028", "NA"], "value": [float("nan"), float("inf")]})
    found = json.loads(tables_json({"name": 'a"b'}, {"rows": table, "none": table[:0]}))
    assert found == {
        "name": 'a"b',
        "rows": [{"label": "</script>\u2028", "value": None}, {"label": "NA", "value": None}],
        "none": [],
    }
