from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.data.campaign import ExpertSample
from kgtrec.errors import FormatError
from kgtrec.formats.campaign.expert_samples import EXPERT_SAMPLE, is_drawn, read_expert_sample, write_expert_sample
from tests.campaigns_by_hand import campaign_of
from tests.judged_pools import pool_of

HEADER = "task\thead\trelation\ttail\tverdict\tprobability\n"
LARGE = pool_of([50])
POOL = pool_of([3])  # tasks 1 to 3: e0 r0 e1, e0 r0 e2, e0 r0 e3


def read(folder: Path, data: str | bytes) -> ExpertSample:
    (folder / EXPERT_SAMPLE).write_bytes(data.encode() if isinstance(data, str) else data)
    return read_expert_sample(folder, POOL)


def test_the_file_as_it_is_written(tmp_path: Path):
    """Labels as they are, whatever a spreadsheet would make of them."""
    pool = campaign_of().pool
    sample = ExpertSample(np.array([1, 2], np.int32), np.array([0, 1], np.int8), np.array([0.25, 1.0]))
    assert not is_drawn(tmp_path)
    write_expert_sample(tmp_path, pool, sample)
    assert is_drawn(tmp_path)
    assert (
        tmp_path / EXPERT_SAMPLE
    ).read_text() == HEADER + "2\tde\tcapital\t'n\tN\t0.25\n3\tde\tcapital\tberlin\tY\t1.0\n"


@given(st.dictionaries(st.integers(0, 49), st.integers(0, 1), min_size=1), st.tuples(*[st.integers(0, 10**6)] * 2))
def test_what_is_written_is_read(labels, more):
    """Rows, labels, probabilities and so the sizes of the strata, to the last bit."""
    triple = np.array(sorted(labels), np.int32)
    verdict = np.array([labels[row] for row in triple], np.int8)
    drawn = np.bincount(verdict, minlength=2)
    population = drawn + np.array(more)
    sample = ExpertSample(triple, verdict, (drawn / np.maximum(population, 1))[verdict])
    with tempfile.TemporaryDirectory() as folder:
        write_expert_sample(folder, LARGE, sample)
        again = read_expert_sample(folder, LARGE)
    assert again.triple.tolist() == triple.tolist()
    assert again.verdict.tolist() == verdict.tolist()
    assert again.probability.tolist() == sample.probability.tolist()
    assert again.population[drawn > 0].tolist() == population[drawn > 0].tolist()


def test_a_folder_in_its_place_is_no_sample(tmp_path: Path):
    """It is found before an expert's tasks are written."""
    (tmp_path / EXPERT_SAMPLE).mkdir()
    assert is_drawn(tmp_path)
    with pytest.raises(FormatError, match="expected a file, found a folder"):
        read_expert_sample(tmp_path, POOL)


def test_lines_in_any_order_with_any_ends(tmp_path: Path):
    """As a spreadsheet or another system may leave them; rows come in the order of the pool."""
    sample = read(
        tmp_path, "\ufeff" + HEADER.replace("\n", "\r\n") + "3\te0\tr0\te3\tY\t1\r\n\r\n1\te0\tr0\te1\tN\t0.5\r\n"
    )
    assert (sample.triple.tolist(), sample.verdict.tolist(), sample.probability.tolist()) == ([0, 2], [0, 1], [0.5, 1])


def test_a_campaign_without_sample(tmp_path: Path):
    with pytest.raises(
        FormatError, match=r"found no expert_sample\.tsv, so no sample was drawn; run kgtrec campaign sa"
    ):
        read_expert_sample(tmp_path, POOL)


@pytest.mark.parametrize(
    ("data", "line", "message"),
    [
        ("", 1, "expected the header line task head relation tail verdict probability, separated by tabs, found an"),
        (HEADER + "1\te0\tr0\te1\tN\n", 2, "expected 6 columns (task head relation tail verdict probability)"),
        (HEADER + "4\te0\tr0\te4\tN\t1\n", 2, "expected a task of 1 to 3, got '4'"),
        (HEADER + "01\te0\tr0\te1\tN\t1\n", 2, "expected a task of 1 to 3, got '01'"),
        (HEADER + "\n1\te0\tr0\te2\tN\t1\n", 3, "expected the triple that is task 1 of pool.tsv, e0 r0 e1, got"),
        (HEADER + "1\te0\tr0\te1\tunsure\t1\n", 2, "expected N or Y as verdict, got 'unsure'"),
        (HEADER + "1\te0\tr0\te1\tN\t0\n", 2, "expected a probability above 0, at most 1, got '0'"),
        (HEADER + "1\te0\tr0\te1\tN\tnan\n", 2, "expected a probability above 0, at most 1, got 'nan'"),
        (HEADER + "1\te0\tr0\te1\tN\thalf\n", 2, "expected a probability above 0, at most 1, got 'half'"),
        (HEADER + "1\te0\tr0\te1\tN\t1\n1\te0\tr0\te1\tN\t1\n", 3, "expected each task once, found 1 here and on"),
        (HEADER + "1\te0\tr0\te1\tN\t1\n2\te0\tr0\te2\tN\t0.5\n", 3, "expected one probability for all of N, got"),
        (HEADER.encode() + b"1\te\xff\tr0\te1\tN\t1\n", 2, "expected UTF-8 text, found"),
    ],
)
def test_a_line_that_is_wrong_is_named(tmp_path: Path, data: str | bytes, line: int, message: str):
    with pytest.raises(FormatError) as caught:
        read(tmp_path, data)
    assert str(caught.value).startswith(f"{tmp_path / EXPERT_SAMPLE}:{line}: {message}")
