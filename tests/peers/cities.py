"""The cities as other tools see them."""

from __future__ import annotations

from pathlib import Path

from tests.program import exit_code

EXAMPLES = Path(__file__).parents[2] / "examples"


def made(folder: Path) -> Path:
    """The folder with the collection C, ranks and runs of two baselines in R, and the texts for ir_datasets in T."""
    splits = [EXAMPLES / "cities" / f"{split}.tsv" for split in ("train", "valid", "test")]
    assert exit_code("questions", *splits, "--out", folder / "C") == 0
    for name in ("rules", "popularity"):
        assert exit_code("rank", folder / "C", "--baseline", name, "--out", folder / "R") == 0
    assert exit_code("convert", folder / "C", folder / "T", "--to", "ir-datasets") == 0
    return folder
