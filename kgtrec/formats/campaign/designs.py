"""The design of a pool of which people judge a random sample: ``design.tsv`` in the campaign's folder.

`question entity theta pi opened drawn` below a header, one line for each question and triple that answers it and no
rule has judged: the probabilities that the question is opened and that the triple is drawn for it, and what was drawn
(yes or no). A triple that answers two questions of the pool may be drawn for either.
"""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.arrow import arrow_of, labels_of
from kgtrec.data.arrow import compute as pc
from kgtrec.data.campaign import Automatic
from kgtrec.data.design import Design
from kgtrec.data.pool import Pool
from kgtrec.data.questions import completed_rows
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError
from kgtrec.formats.lines import Lines, probabilities, read_columns
from kgtrec.formats.output.folders import POOL, TOPICS
from kgtrec.formats.trec.text import shown
from kgtrec.formats.tsv import write_tsv

DESIGN_COLUMNS = ("question", "entity", "theta", "pi", "opened", "drawn")
_ANSWERS = ("no", "yes")


def write_design(stream: BinaryIO, design: Design, pool: Pool) -> None:
    """Write a design, in the order of its rows; the labels are those of the pool's files."""
    answers, asked = labels_of(_ANSWERS), pool.questions

    def columns(some: slice) -> list[pa.StringArray]:
        rows = design.take(np.arange(len(design))[some])
        triples = pool.triples.take(rows.triple)
        entity = np.where(asked.is_head[rows.question], triples.head, triples.tail)
        numbers = (pc.cast(arrow_of(column), pa.string()) for column in (rows.theta, rows.pi))
        said = (answers.take(arrow_of(column.astype(np.int32))) for column in (rows.is_opened, rows.is_drawn))
        return [asked.ids.decode(rows.question), asked.entities.decode(entity), *numbers, *said]

    write_tsv(stream, len(design), columns, DESIGN_COLUMNS)


def read_design(path: Path, pool: Pool, automatic: Automatic) -> Design:
    """Read the design of a pool.

    Raises
    ------
    FormatError
        For the first line that is malformed, of a triple that the pool lacks or a rule has judged, or not as likely as
        it says; if a candidate has no line.
    """
    lines = Lines.read(path).below_header(DESIGN_COLUMNS).without_nul()
    ids, labels, thetas, pis, *said = read_columns(lines, DESIGN_COLUMNS)
    asked = pool.questions
    question, entity = asked.ids.encode(ids), asked.entities.encode(labels)
    lines.require(question >= 0, lambda row: f"expected a question of {TOPICS}, got {ids[row].as_py()!r}")
    triples = asked.triples(question, entity)
    triple = pool.rows(triples.head, triples.relation, triples.tail)
    lines.require(
        (triple >= 0) & (entity >= 0), lambda row: f"expected a candidate of {POOL}, got {labels[row].as_py()!r}"
    )
    lines.require(
        ~automatic.is_automatic[triple], lambda _: "expected a triple for people, got one that a rule has judged"
    )
    key = question.astype(np.int64) * max(len(pool), 1) + triple
    lines.require_distinct(key, lambda row: shown(lines.rows[row].data), "each (question, entity)")
    theta, pi = (probabilities(lines, column) for column in (thetas, pis))
    lines.require(pi <= theta, lambda _: "expected pi to be theta at most, got more")
    is_opened, is_drawn = (_answers(lines, column) for column in said)
    lines.require(is_opened | ~is_drawn, lambda _: "expected drawn triples in opened questions only, got another")
    n_pairs = len(completed_rows(asked, pool.triples.take(np.flatnonzero(~automatic.is_automatic)))[0])
    if len(key) < n_pairs:
        raise FormatError(f"expected {n_pairs:,} lines below the header, one per candidate, got {len(key):,}", path)
    order = np.argsort(key, kind="stable")
    first = order[np.searchsorted(question[order], question)]
    lines.require(is_opened == is_opened[first], lambda _: "expected a question to be opened or not, got both")
    lines.require(theta == theta[:1], lambda _: "expected one theta in all lines, got another; restore kgtrec's file")
    columns = question.astype(np.int32), triple.astype(np.int32), theta, pi, is_opened, is_drawn
    return Design(*columns).take(order)


def _answers(lines: Lines, column: pa.StringArray) -> NDArray[np.bool_]:
    code = Vocabulary.of(_ANSWERS).encode(column)
    lines.require(code >= 0, lambda row: f"expected yes or no, got {column[row].as_py()!r}")
    return code == 1
