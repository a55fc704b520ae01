"""What several tests of TREC files share: strategies for hostile files, and what a file of them must read as."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from hypothesis import strategies as st

from kgtrec.data.qrels import Qrels
from kgtrec.data.run import Run
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.formats.trec import text
from kgtrec.formats.trec.runs import RunFile, read_run_file

ASCII_BLANKS = " \t\v\f\r\n"
HOSTILE = [
    "NA",
    "null",
    "007",
    'he"said',
    "a,b",
    "x#1",
    "nan",
    "q\u00a0r",
    "Zürich",
    "\ufeffz",
    "'",
    "\\",
    "\x01",
    "inf",
]
HOSTILE += ["日本"]

# any text without ASCII blanks and NUL is a label; one that begins with # begins no line
labels = st.sampled_from(HOSTILE) | st.text(
    st.characters(exclude_categories=("Cs",), exclude_characters=ASCII_BLANKS + "\0"), min_size=1, max_size=4
)
first_labels = labels.filter(lambda label: label[0] not in "#\ufeff")
# those that a writer takes too
plain_labels = labels.filter(lambda label: label.split() == [label])
plain_first_labels = first_labels.filter(lambda label: label.split() == [label])
scores = st.floats(max_value=sys.float_info.max) | st.sampled_from([0.0, -0.0, 1.0, 16777216.0, 16777217.0, 5e-324])
spelled_scores = st.builds(repr, scores) | st.sampled_from(
    ["+1.5", "1e5", ".5", "5.", "-.5E-3", "-inf", "-Infinity", "-INF", "007", "-1e400"]
)


@st.composite
def messy_files(draw: st.DrawFn, columns: list[st.SearchStrategy[str]], key: tuple[int, int]) -> tuple[bytes, list]:
    """The bytes of a file with everything that trec_eval forgives, and its rows in file order."""
    rows = draw(
        st.lists(st.tuples(*columns), min_size=1, max_size=12, unique_by=lambda row: (row[key[0]], row[key[1]]))
    )
    blanks = draw(st.sampled_from([" ", "\t", " \t\v\f\r"]))
    gap = st.text(blanks, min_size=1, max_size=draw(st.integers(1, 3)))
    edge = st.text(blanks, max_size=draw(st.integers(0, 2)))
    noise = st.sampled_from(["", "", "", "\n", " \t\n", "# comment of six columns q e\n", "  #\n"])
    end = draw(st.sampled_from(["\n", "\r\n"]))
    text = draw(st.sampled_from(["", "\ufeff"]))
    for row in rows:
        text += draw(noise) + draw(edge)
        text += "".join(field + draw(gap) for field in row[:-1]) + row[-1] + draw(edge) + end
    text += draw(noise)
    if draw(st.booleans()):
        text = text.removesuffix("\n")
    return text.encode(), rows


@st.composite
def pairs_with(draw: st.DrawFn, values: st.SearchStrategy[Any], kind: type) -> tuple[Any, ...]:
    """Codes of questions and entities, a value of each pair, and vocabularies with unused labels."""
    questions = draw(st.lists(plain_first_labels, min_size=1, max_size=4, unique=True))
    entities = draw(st.lists(plain_labels, min_size=1, max_size=6, unique=True))
    pairs = st.tuples(st.integers(0, len(questions) - 1), st.integers(0, len(entities) - 1))
    rows = draw(st.lists(pairs, min_size=1, max_size=20, unique=True))
    value = np.array(draw(st.lists(values, min_size=len(rows), max_size=len(rows))), kind)
    return *np.array(rows, np.int32).T, value, Vocabulary.of(questions), Vocabulary.of(entities)


def runs() -> st.SearchStrategy[Run]:
    """Runs that every writer takes, with ties and infinities."""
    return st.builds(lambda name, rows: Run.of(name, *rows), plain_labels, pairs_with(scores, np.float64))


def qrels() -> st.SearchStrategy[Qrels]:
    """Qrels that every writer takes."""
    return pairs_with(st.integers(-(2**31), 2**31 - 1), np.int32).map(lambda rows: Qrels.of(*rows))


def rows_of(run: Run) -> list[tuple[str, str, str]]:
    """(question, entity, exact score) of a run, in its order."""
    columns = (run.decoded(name).to_pylist() for name in ("question", "entity"))
    return [(*pair, value.hex()) for *pair, value in zip(*columns, run.score.tolist(), strict=True)]


def judgements_of(found: Qrels) -> set[tuple[str, str, int]]:
    """(question, entity, grade) of qrels."""
    columns = found.questions.decode(found.question).to_pylist(), found.entities.decode(found.entity).to_pylist()
    return set(zip(*columns, found.grade.tolist(), strict=True))


def read_bytes(data: bytes, block_size: int = text.BLOCK_SIZE) -> RunFile:
    """A run of bytes, of which so many are parsed at a time."""
    with patch.object(text, "BLOCK_SIZE", block_size):
        return read_run_file("x.run", stream=io.BytesIO(data))


def irregular(data: bytes) -> bytes:
    """The same rows, which the parser of regular lines has to leave to the general one, on the same lines."""
    mark = b"\xef\xbb\xbf" if data.startswith(b"\xef\xbb\xbf") else b""
    return mark + b" " + data.removeprefix(mark)


def written(folder: Path, name: str, text: str | bytes) -> Path:
    """A file with that content."""
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path
