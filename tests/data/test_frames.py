"""Data frames of users: what they may hold, and what is refused."""

from __future__ import annotations

from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest

from kgtrec.data.run import Run
from kgtrec.errors import KgtrecError

RUN = pd.DataFrame({"query_id": ["q1", "q1", "q2"], "doc_id": ["a", "x", "c"], "score": [2.0, 3.0, 1.0]})


def lists(frame):
    run = Run.from_frame(frame)
    columns = run.questions.decode(run.question).to_pylist(), run.entities.decode(run.entity).to_pylist()
    return [*zip(*columns, run.score.tolist(), strict=True)]


@pytest.mark.parametrize(
    "frame",
    [
        RUN.astype({"query_id": "category", "doc_id": pd.CategoricalDtype(["unused", "x", "c", "a"])}),
        RUN.astype({"query_id": "string", "doc_id": "string[pyarrow]"}),
        RUN.astype({"score": "float16"}),
        RUN.astype({"score": "int64"}),
        RUN.assign(score=pd.array([2, 3, 1], dtype="Float64")),
        RUN.assign(score=[Decimal(2), Decimal(3), Decimal(1)]),
        RUN.assign(extra="ignored").set_index(pd.Index([0, 0, 0])),
    ],
)
def test_any_dtype_that_means_the_same(frame):
    """Categories, string dtypes, narrow floats, whole numbers; index and further columns play no part."""
    assert lists(frame) == [("q1", "x", 3.0), ("q1", "a", 2.0), ("q2", "c", 1.0)]


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (RUN.assign(doc_id=[1, 2, 3]), "expected text in column 'doc_id', found int64"),
        (RUN.assign(doc_id=pd.Categorical([1, 2, 3])), "expected text in column 'doc_id', found int64"),
        (RUN.assign(doc_id=["a", None, "c"]), "expected a label in every row of column 'doc_id', found none in row 1"),
        (RUN.assign(doc_id=pd.Series(["\ud800", "x", "c"], dtype=object)), "that UTF-8 can hold"),
        (RUN.assign(score=[1j, 2, 3]), "expected numbers in column 'score', found complex128"),
        (RUN.assign(score=pd.to_datetime(["2020", "2021", "2022"])), "expected numbers in column 'score', found d"),
        (RUN.assign(score=[1.0, float("nan"), 2.0]), "expected a number in every row of column 'score', found NaN"),
        (pd.concat([RUN, RUN[["score"]]], axis=1), "expected one column 'score' in the data frame, found 2"),
        (RUN.drop(columns="score"), "expected a column 'score' in the data frame, found query_id, doc_id"),
        ({"q1": {"a": 1.0}}, "expected a data frame of pandas, polars or pyarrow, found dict"),
    ],
)
def test_what_is_refused(frame, message):
    """Rather than taken for something that nobody meant."""
    with pytest.raises(KgtrecError, match=message):
        Run.from_frame(frame)


def test_tables_of_arrow_are_data_frames():
    """So are those of polars and DuckDB, which Arrow reads; they name no collection."""
    frames = pa.Table.from_pandas(RUN), pa.Table.from_pandas(RUN.rename(columns={"query_id": "qid", "doc_id": "docno"}))
    assert [lists(frame) for frame in frames] == [lists(RUN)] * 2
    with pytest.raises(KgtrecError, match=r"^expected a column 'score' in the data frame, found query_id, doc_id$"):
        Run.from_frame(frames[0].drop_columns("score"))
    with pytest.raises(KgtrecError, match="RecordBatchReader"):  # it can be read once, by no second column
        Run.from_frame(frames[0].to_reader())
