"""Answer ranks that cannot be compared, as a user meets them at the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.program import kgtrec, refusal

CITIES = Path(__file__).parents[2] / "examples" / "cities"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A collection C, ranks of one system that was filtered and of another that was not."""
    folder = tmp_path_factory.mktemp("mixtures")
    kgtrec("questions", *(str(CITIES / f"{name}.tsv") for name in ("train", "valid", "test")), "--out", f"{folder}/C")
    kgtrec("rank", f"{folder}/C", "--baseline", "rules", "--out", f"{folder}/ranks", "--depth", "0")
    kgtrec("rank", f"{folder}/C", "--baseline", "svd", "--out", f"{folder}/raw", "--depth", "0", "--filter", "raw")
    return folder


@pytest.mark.parametrize(
    "words",
    [
        "evaluate C",
        "evaluate C --ties all",
        "meta compare C",
        "meta power C",
        "meta correlate C C/qrels.txt",
        "meta sparsity C/qrels.txt C -m micro.MRR",
        "meta stability C --repeats 2 --sizes 50%",
        "openworld curve C --densities 1",
    ],
)
@pytest.mark.parametrize("other_way", [False, True])
def test_every_command_refuses_them_by_file_in_either_order(words, other_way, folder, monkeypatch, capsys):
    """And warns with --mixed."""
    monkeypatch.chdir(folder)
    files = ["ranks/rules.ranks.parquet", "raw/svd.ranks.parquet"]
    files = files[::-1] if other_way else files
    if "correlate" in words or "sparsity" in words:
        files = [word for file in files for word in ("--systems", file)]
    command = [*words.split(), *files]
    told = refusal(capsys, *command)
    assert "expected answer ranks that were filtered in the same way, found" in told
    assert "ranks/rules.ranks.parquet filtered by train, valid, test" in told
    assert "raw/svd.ranks.parquet not filtered (raw)" in told
    kgtrec(*command, "--mixed")
    assert "warning: a mixture: expected answer ranks that were filtered in the same way" in capsys.readouterr().err
