"""kgtrec check of runs that are read part by part: what it finds in the same run when it is read at once."""

from __future__ import annotations

import re
from pathlib import Path
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.cli import cli
from kgtrec.data.run import Run
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.formats.answer_ranks import write_answer_ranks
from kgtrec.formats.collections import write_collection
from kgtrec.formats.parquet import with_metadata
from kgtrec.formats.trec import streamed_runs
from kgtrec.formats.trec.runs import write_run
from kgtrec.ranking.rank import rank_scores
from tests.collections_by_hand import collection_of
from tests.examples import examples

N_QUESTIONS, N_ENTITIES = 12, 30
COLLECTION = collection_of(
    N_QUESTIONS,
    N_ENTITIES,
    {(q, e): 1 for q in range(N_QUESTIONS) for e in (q, q + 1)},
    filtered={(q, q + split + 2, split) for q in range(N_QUESTIONS) for split in range(3) if (q + split) % 3},
)
FAULTS = (
    "repeated pair",
    "nan",
    "no question",
    "no entity",
    "no score",
    "scattered",
    "unknown question",
    "unknown entity",
    "flat lists",
    "missing question",
    "numbers as entities",
)
REFUSED = {"repeated pair", "nan", "no question", "no entity", "no score", "numbers as entities"}
GATHERED = "expected the rows of each question together, found "


def check(folder, *names: str, rows_in_memory=None) -> tuple[int, list[str]]:
    """The exit code and the lines, with names relative to the folder."""
    limit = streamed_runs.ROWS_IN_MEMORY if rows_in_memory is None else rows_in_memory
    with mock.patch.object(streamed_runs, "ROWS_IN_MEMORY", limit):
        result = CliRunner().invoke(cli, ["check", *(str(folder / name) for name in names)], catch_exceptions=False)
    return result.exit_code, result.stdout.replace(f"{folder}/", "").splitlines()


def table_of(seed, faults) -> pa.Table:
    """The rows of a run with these faults; questions are in any order."""
    rng = np.random.default_rng(seed)
    questions = [int(q) for q in rng.permutation(N_QUESTIONS)][: N_QUESTIONS - ("missing question" in faults)]
    rows = []
    for q in questions:
        flat = "flat lists" in faults and rng.random() < 0.5
        listed = rng.permutation(N_ENTITIES)[: rng.integers(1, 12)]
        rows += [(f"tail{q}", f"e{e}", 1.0 if flat else float(rng.integers(0, 6))) for e in listed]

    def places() -> list[int]:
        return [int(place) for place in rng.integers(0, len(rows), rng.integers(1, 3))]

    if "unknown question" in faults:
        rows += [(f"tail{q}", "e0", 1.0) for q in range(N_QUESTIONS, N_QUESTIONS + int(rng.integers(1, 5)))]
    if "unknown entity" in faults:
        for place in places():
            rows[place] = (rows[place][0], f"e{N_ENTITIES + place % 4}x{place}", rows[place][2])
    if "repeated pair" in faults:
        for place in places():
            rows.insert(place, (*rows[place][:2], 7.0))
    if "scattered" in faults:
        rows = [rows[place] for place in rng.permutation(len(rows))]
    for fault, column, value in (("nan", 2, np.nan), ("no question", 0, None), ("no entity", 1, None)):
        if fault in faults:
            for place in places():
                rows[place] = tuple(value if at == column else old for at, old in enumerate(rows[place]))
    if "no score" in faults:
        rows[places()[0]] = (*rows[places()[0]][:2], None)
    question, entity, score = zip(*rows, strict=True)
    texts = pa.array(range(len(rows))) if "numbers as entities" in faults else pa.array(entity, pa.string())
    return pa.table({"question": pa.array(question, pa.string()), "entity": texts, "score": pa.array(score)})


@st.composite
def metadata(draw) -> dict[str, object]:
    """What a Parquet run says of its collection."""
    of = draw(st.sampled_from([None, COLLECTION.stamp, "another"]))
    said = {} if of is None else {"collection": of, "filtered_by": draw(st.sampled_from([None, [], ["train", "test"]]))}
    return {"format": "run", "name": "x", **said}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A collection, and a perfect run."""
    made = tmp_path_factory.mktemp("check")
    write_collection(made / "C", COLLECTION)
    qrels = COLLECTION.qrels
    questions, entities = COLLECTION.questions.ids, COLLECTION.entities
    score = np.arange(len(qrels), 0.0, -1.0)
    write_run(made / "good.parquet", Run.of("good", qrels.question, qrels.entity, score, questions, entities))
    return made


@pytest.mark.slow
@given(
    st.integers(0, 2**32),
    st.sets(st.sampled_from(FAULTS), max_size=3),
    st.integers(1, 9),
    st.sets(st.integers(1, 60), max_size=3),
    metadata(),
)
@settings(max_examples=examples(40), deadline=None)
def test_findings_are_those_of_the_run_in_memory(folder, seed, faults, group, bounds, said):
    """However it is cut into row groups and files: the same lines, rows, examples and exit code.

    That the rows of a question are in several places is found in addition. Of several faults for which a file is
    refused, each way of reading names the one that it comes upon first.
    """
    table = table_of(seed, faults)
    table = table.replace_schema_metadata(with_metadata(table.schema, said).metadata)
    pq.write_table(table, folder / "x.parquet", row_group_size=group)
    whole = check(folder, "C", "good.parquet", "x.parquet")
    parts = check(folder, "C", "good.parquet", "x.parquet", rows_in_memory=0)
    is_scattered = any(GATHERED in line for line in parts[1])
    if is_scattered or len(REFUSED & faults) > 1:
        assert parts[0] == 2
        assert is_scattered or whole[0] == 2
        return
    assert parts == whole
    with_folder(folder, table, sorted(bounds & set(range(table.num_rows))), group)
    cut = check(folder, "C", "good.parquet", "x.run")
    assert (cut[0], placeless(cut[1])) == (parts[0], placeless(parts[1]))


def with_folder(folder, table, bounds, group) -> None:
    """Write the rows as the parts of x.run."""
    (folder / "x.run").mkdir(exist_ok=True)
    for old in (folder / "x.run").iterdir():
        old.unlink()
    for number, (first, last) in enumerate(zip([0, *bounds], [*bounds, table.num_rows], strict=True)):
        pq.write_table(
            table.slice(first, last - first), folder / "x.run" / f"part-{number:05}.parquet", row_group_size=group
        )


def placeless(lines) -> list[str]:
    """Lines without the name of the file, and without the row in it."""
    named = [re.sub(r"x\.run(/part-\d+\.parquet)?|x\.parquet", "X", line) for line in lines]
    return [re.sub(r"in row \d+", "in row N", line) for line in named]


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault != "flat lists"])
def test_each_fault_is_found(folder, fault):
    """By itself, in a run of one file and in parts."""
    pq.write_table(table_of(3, {fault}), folder / "x.parquet", row_group_size=4)
    assert check(folder, "C", "x.parquet", rows_in_memory=0)[0] == 2


def test_a_folder_of_systems_has_runs_and_answer_ranks_in_parts(folder):
    """Beside those in one file, with the same findings: here filtered answers in a run whose ranks were filtered."""
    told = []
    ranks = rank_scores(
        COLLECTION, np.zeros((N_QUESTIONS, N_ENTITIES)), questions=COLLECTION, entities=COLLECTION, name="x", depth=0
    ).answer_ranks
    run = Run.of(
        "x",
        *(np.repeat(np.arange(N_QUESTIONS, dtype=np.int32), 8), np.tile(np.arange(8, dtype=np.int32), N_QUESTIONS)),
        np.arange(8.0 * N_QUESTIONS),
        COLLECTION.questions.ids,
        Vocabulary.of([f"e{number}" for number in range(8)]),
    )
    for kind, in_parts in (("one", False), ("parts", True)):
        place = folder / kind
        (place / "x.ranks").mkdir(parents=True)
        write_run(place / "x.run", run, parts=in_parts)
        if in_parts:
            write_answer_ranks(place / "x.ranks" / "part-00000.parquet", ranks)
        else:
            (place / "x.ranks").rmdir()
            write_answer_ranks(place / "x.ranks.parquet", ranks)
        code, lines = check(folder, "C", kind)
        told.append(
            (code, sorted(line.replace(f"{kind}/", "").replace("x.ranks.parquet", "x.ranks") for line in lines))
        )
    assert told[0] == told[1]
    assert any("x.run: expected a run that was filtered by train, valid, test" in line for line in told[0][1])


def test_a_damaged_part_is_a_finding(folder):
    """And a folder without parts."""
    (folder / "bad.run").mkdir()
    assert check(folder, "bad.run") == (2, ["bad.run: expected a folder of Parquet files, found none in it"])
    (folder / "bad.run" / "part-00000.parquet").write_bytes(b"PAR1 and nothing else")
    code, lines = check(folder, "bad.run")
    assert code == 2
    assert lines[0].startswith("bad.run/part-00000.parquet: expected a whole Parquet file, found damaged")


def test_parquet_runs_in_a_folder_are_checked(folder):
    """By their columns; what has no scores is left alone, and a damaged file is a finding."""
    place = folder / "parquet"
    place.mkdir()
    pq.write_table(table_of(1, set()), place / "x.parquet")
    pq.write_table(pa.table({"loss": [0.5]}), place / "losses.parquet")
    code, lines = check(folder, "parquet")
    assert (code, len(lines)) == (0, 1)
    assert lines[0].startswith("parquet/x.parquet: ok, run 'x': ")
    (place / "y.parquet").write_bytes(b"PAR1")
    code, lines = check(folder, "parquet")
    assert (code, len(lines)) == (2, 2)
    assert lines[1].startswith("parquet/y.parquet: expected a whole Parquet file, found damaged")
