"""The study of FB15k-237 that examples/fb15k-237 makes from the answer ranks there, and its page in docs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from kgtrec.formats.answer_ranks import read_answer_ranks
from kgtrec.study import Study, run_study
from kgtrec.study.findings import Findings, sizes_needed

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "fb15k-237"
SYSTEMS = ("complex", "conve", "cp", "distmult", "rescal", "rotate", "transe", "tucker")
MOST = 5_000_000  # bytes


def test_the_ranks_of_eight_systems_are_small_and_have_a_notice_of_the_labels_licence():
    """They hold the pairs that the published labels judge beside all answers of FB15k-237."""
    paths = sorted((EXAMPLE / "ranks").iterdir())
    assert [path.name for path in paths] == [f"{name}.ranks.parquet" for name in SYSTEMS]
    assert sum(path.stat().st_size for path in EXAMPLE.rglob("*") if path.is_file()) < MOST
    ranks = read_answer_ranks(paths[0])
    assert (ranks.name, int(ranks.answer.sum())) == ("complex", 40_932)
    assert len(ranks) > 60_000
    assert (EXAMPLE / "LICENSE-labels").read_text().split()[:4] == ["Apache", "License", "Version", "2.0,"]
    assert "Apache License 2.0" in (EXAMPLE / "README.md").read_text()


@pytest.fixture(scope="module")
def study(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Study:
    """What the command of the page makes; the public data are where they would be downloaded to."""
    folder = tmp_path_factory.mktemp("fb15k-237") / "example"
    shutil.copytree(EXAMPLE, folder)
    (folder / "fb15k-237").symlink_to(data / "fb15k-237")
    (folder / "kgc-sparsity").symlink_to(data / "kgc-sparsity" / "data")
    return run_study(folder / "study.toml")


@pytest.mark.long
def test_the_shipped_ranks_have_the_scores_of_the_models(study: Study, data: Path):
    lines = (data / "systems" / "fb15k-237" / "reference.tsv").read_text().splitlines()
    reference = {cells[0]: float(cells[1]) for cells in (line.split("\t") for line in lines[1:])}
    rows = study.tables["scores/O"].to_pylist()
    found = {row["system"]: row["value"] for row in rows if row["measure"] == "micro.MRR"}
    assert found == pytest.approx(reference, abs=1e-5)


def tables(page: str) -> Iterator[dict[str, list[str]]]:
    """The tables of a page: first cell of a row -> the other cells."""
    for block in re.findall(r"(?:^\|.*\n)+", page, re.MULTILINE):
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines()[2:]]
        yield {name: cells for name, *cells in rows}


@pytest.mark.long
def test_the_page_has_the_numbers_of_the_study(study: Study):
    page = (ROOT / "docs" / "study-fb15k-237.md").read_text()
    sizes, correlations, counts = tables(page)
    for facts in study.labels:
        assert sizes[facts.name][:3] == [f"{n:,}" for n in (facts.questions, facts.answers, facts.judged_wrong)]
    for column, labels in ((0, "O/S"), (2, "S/S-C")):
        for row in study.tables[f"correlation/{labels}"].to_pylist():
            if row["coefficient"] == "tau" and row["measure"] in correlations:
                number = f"{row['value']:.3f} ({row['low']:.3f} to {row['high']:.3f})"
                assert correlations[row["measure"]][column] == number
    for column, labels in enumerate(("O", "S", "S-C")):
        for row in study.tables[f"power/{labels}"].to_pylist():
            if row["test"] == "clustered" and row["measure"] in counts:
                assert counts[row["measure"]][column] == str(row["below_adjusted"])
    needed = sizes_needed(study.tables["stability/O"])
    for measure, row in ((name, needed[name]) for name in counts):
        assert counts[measure][3] == (f"{row['share']:.0%}" if row else "-")


@pytest.mark.long
def test_the_page_concludes_what_the_tests_support(study: Study):
    """The best systems, and that no pair is significantly in opposite order."""
    page = " ".join((ROOT / "docs" / "study-fb15k-237.md").read_text().split()).casefold()
    findings = Findings(study)
    best, unsettled = findings.best_systems()
    on = " and ".join(f"{labels} ({value:.4f})" for labels, value in best.values)
    assert f"by micro.mrr, {best.system} is significantly the best system on {on}.".casefold() in page
    rivals = " and ".join(f"{name} (p = {p:.3f})" for name, p in unsettled.rivals)
    ((labels, value),) = unsettled.values
    rest = f"{unsettled.system} ({value:.4f}) is not distinguishable from {rivals}."
    assert f"on {labels} no system is: {rest}".casefold() in page
    sparse = {
        row["system"]: row["value"] for row in study.tables["scores/S"].to_pylist() if row["measure"] == "micro.MRR"
    }
    assert f"above transe on s (by {sparse['rescal'] - sparse['transe']:.3f}, p =" in page
    assert [findings.swapped("S", "S-C", measure) for measure in study.measures] == [[]] * len(study.measures)
    for measure, better, worse in (("micro.MRR", "rescal", "transe"), ("macro.MRR", "rescal", "transe")):
        for labels in ("S", "S-C"):
            assert f"p = {findings.p[labels][measure][frozenset((better, worse))]:.3f}" in page


@pytest.mark.slow
def test_the_script_makes_the_shipped_ranks_from_the_models(data: Path, tmp_path: Path):
    """Of the first of the systems, every column of every row."""
    shutil.copy(EXAMPLE / "make.sh", tmp_path)
    fewer = tmp_path / "data"
    (fewer / "systems" / "fb15k-237").mkdir(parents=True)
    for name in ("fb15k-237", "kgc-sparsity"):
        (fewer / name).symlink_to(data / name)
    for name in ("complex.npz", "entities.txt", "relations.txt"):
        (fewer / "systems" / "fb15k-237" / name).symlink_to(data / "systems" / "fb15k-237" / name)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(
        ["sh", tmp_path / "make.sh"], check=True, env={**os.environ, "KGTREC_DATA": str(fewer), "PATH": path}
    )
    (made,) = (tmp_path / "ranks").iterdir()
    assert pq.read_table(made).equals(pq.read_table(EXAMPLE / "ranks" / made.name), check_metadata=True)
