"""The labels that an expert was asked to judge again: expert_sample.tsv in the folder of a campaign."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

import numpy as np

from kgtrec.data.campaign import ExpertSample
from kgtrec.data.judgements import VERDICTS
from kgtrec.data.pool import Pool
from kgtrec.errors import FormatError
from kgtrec.formats.files import PathLike, require_regular
from kgtrec.formats.lines import Lines
from kgtrec.formats.output.folders import EXPERT_SAMPLE
from kgtrec.formats.tsv import triple_labels, write_rows

COLUMNS = ("task", "head", "relation", "tail", "verdict", "probability")


def is_drawn(folder: PathLike) -> bool:
    """Check whether the campaign in a folder has a sample."""
    return Path(folder, EXPERT_SAMPLE).exists()  # of any kind, so that reading it reports what is wrong


def write_expert_sample(folder: PathLike, pool: Pool, sample: ExpertSample) -> None:
    """Write expert_sample.tsv, atomically: a line per triple, with its label and its probability of being drawn."""
    columns = (
        map(str, (sample.triple + 1).tolist()),
        *(labels.to_pylist() for labels in triple_labels(pool.triples, sample.triple)),
        (VERDICTS[verdict] for verdict in sample.verdict),
        map(repr, sample.probability.tolist()),
    )
    write_rows(Path(folder, EXPERT_SAMPLE), COLUMNS, zip(*columns, strict=True))


def read_expert_sample(folder: PathLike, pool: Pool) -> ExpertSample:
    """Read the sample that was drawn from a pool.

    Raises
    ------
    FormatError
        If there is none, or for the first line that is malformed or impossible in a sample of this pool.
    """
    path = Path(folder, EXPERT_SAMPLE)
    if not is_drawn(folder):
        raise FormatError(
            f"found no {EXPERT_SAMPLE}, so no sample was drawn; run kgtrec campaign sample --out first",
            path=str(folder),
        )
    require_regular(path)
    rows: list[tuple[int, int, float]] = []
    first_of: dict[str, tuple[str, int]] = {}  # verdict -> its first probability, and on which line
    for line in Lines.read(path).below_header(COLUMNS).rows:
        task, *labels, verdict, text = line.fields(COLUMNS)
        if not re.fullmatch("[1-9][0-9]{0,8}", task) or int(task) > len(pool):
            raise line.error(f"expected a task of 1 to {len(pool)}, got {task[:40]!r}")
        own = pool.triples.labels_at(int(task) - 1)
        if tuple(labels) != own:
            raise line.error(
                f"expected the triple that is task {task} of pool.tsv, {' '.join(own)}, got {' '.join(labels)}; the "
                "sample is of another pool"
            )
        line.once(int(task), task, "each task")
        if verdict not in VERDICTS[:2]:
            raise line.error(f"expected N or Y as verdict, got {verdict!r}")
        first, where = first_of.setdefault(verdict, (text, line.number))
        if text != first:
            raise line.error(
                f"expected one probability for all of {verdict}, got {text!r} here and {first!r} on line {where}"
            )
        with suppress(ValueError):
            if 0 < (probability := float(text)) <= 1:
                rows.append((int(task) - 1, VERDICTS.index(verdict), probability))
                continue
        raise line.error(f"expected a probability above 0, at most 1, got {text[:40]!r}")
    triple, label, probabilities = zip(*sorted(rows), strict=True) if rows else [()] * 3
    return ExpertSample(np.array(triple, np.int32), np.array(label, np.int8), np.array(probabilities, np.float64))
