"""Runs that are read part by part: the same numbers as of the whole, by every verb, or an error."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.cli import main
from kgtrec.data.run import Run, StreamedRun
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError, KgtrecWarning, MeasureError
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.evaluation.ties import compare_ties
from kgtrec.formats.answer_ranks import read_answer_ranks, write_answer_ranks
from kgtrec.formats.trec import runs as run_files
from kgtrec.formats.trec import streamed_runs
from kgtrec.formats.trec.qrels import write_qrels
from kgtrec.formats.trec.runs import RunWriter, read_run, write_run
from kgtrec.formats.trec.streamed_runs import open_run, read_any_run, sort_run
from kgtrec.meta.stability import stability
from kgtrec.pooling.pool_runs import pool_runs
from kgtrec.ranking.rank import rank_scores
from tests.collections_by_hand import collection_of
from tests.examples import examples
from tests.formats.trec_files import rows_of, runs

POLICIES = ("trec", "realistic", "optimistic", "pessimistic", "expected", "nondeterministic")
MEASURES = "macro.MRR macro.Hits@1 AP@20 nDCG@20 bpref infAP Judged@3"
QRELS = collection_of(4, 6, {(q, e): (q + e) % 4 - 1 for q in range(4) for e in range(6)}).qrels


def drawn_run(seed: int, name: str = "drawn") -> Run:
    """Of some questions of ``QRELS`` and others, with many ties."""
    rng = np.random.default_rng(seed)
    pairs = [(q, e) for q in range(6) for e in range(9) if rng.random() < 0.7] or [(0, 0)]
    question, entity = np.array(pairs, np.int32).T
    questions = Vocabulary.of([*QRELS.questions, "other1", "other2"])
    entities = Vocabulary.of([*QRELS.entities, "x", "y", "z"])
    score = rng.choice([0.0, -0.0, 1.5, 2.5, -np.inf], len(pairs))
    return Run.of(name, question.copy(), entity.copy(), score, questions, entities)


def in_parts(folder: Path, run: Run, bounds: list[int]) -> Path:
    """Its rows as they are, in files that begin at these rows."""
    folder.mkdir()
    for number, (first, last) in enumerate(zip([0, *bounds], [*bounds, len(run)], strict=True)):
        part = run.take(np.arange(first, last))
        table = pa.table({"question": part.decoded("question"), "entity": part.decoded("entity"), "score": part.score})
        pq.write_table(table, folder / f"part-{number:05}.parquet", row_group_size=3)
    return folder


def silently(call, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KgtrecWarning)
        return call(*arguments, **options)


cuts = st.sets(st.integers(1, 30), max_size=3)


@pytest.mark.slow
@given(st.integers(0, 2**32), st.integers(1, 9), cuts)
def test_every_number_is_that_of_the_whole(tmp_path_factory, seed: int, rows: int, bounds: set[int]):
    """However it is cut into files, row groups and parts, under every rule for ties."""
    whole = drawn_run(seed)
    folder = in_parts(tmp_path_factory.mktemp("run") / "drawn.run", whole, sorted(bounds & set(range(len(whole)))))
    found = open_run(folder, name="drawn", rows_at_a_time=rows)
    assert isinstance(found, StreamedRun)
    assert len(found) == len(whole)
    for ties in POLICIES:
        measures = "macro.MRR AP@20 nDCG@20" if ties == "expected" else MEASURES
        scores = silently(evaluate, QRELS, {"whole": whole, "parts": found}, measures, per="question", ties=ties)
        np.testing.assert_array_equal(scores.values[0], scores.values[1])
    some = Vocabulary.of([QRELS.questions[2], "other2"])
    assert rows_of(joined(found.of_questions(some))) == rows_of(whole.of_questions(some))


def joined(run: StreamedRun) -> Run:
    """All parts as one run."""
    parts = list(run.parts())
    columns = [np.concatenate([getattr(part, name) for part in parts]) for name in ("question", "entity", "score")]
    return Run.of(run.name, *columns, run.questions, run.entities)


@given(runs(), st.integers(1, 5))
def test_parts_hold_whole_lists_and_all_rows(tmp_path_factory, run: Run, rows: int):
    """In the order of the file."""
    path = tmp_path_factory.mktemp("run") / "x.parquet"
    write_run(path, run)
    found = open_run(path, rows_at_a_time=rows)
    assert rows_of(joined(found)) == rows_of(run)
    seen = [set(part.questions.decode(part.question).to_pylist()) for part in found.parts()]
    assert sum(map(len, seen)) == len(set().union(*seen))


@pytest.mark.slow
@given(st.integers(0, 2**32), st.integers(1, 9))
@settings(max_examples=examples(10))
def test_verbs_that_take_runs_take_parts(tmp_path_factory, seed: int, rows: int):
    """Pools, ties, stability, and scores compared as 32-bit floats."""
    whole = drawn_run(seed)
    folder = tmp_path_factory.mktemp("run")
    write_run(folder / "drawn.parquet", whole)
    found = open_run(folder / "drawn.parquet", rows_at_a_time=rows)
    test = collection_of(4, 6, {(q, q): 1 for q in range(4)})
    both = [silently(pool_runs, test, [each], seed=seed % 7, depth=3) for each in (whole, found)]
    for column in ("question", "entity", "rank"):
        assert getattr(both[0], column).tolist() == getattr(both[1], column).tolist()
    ties = [silently(compare_ties, QRELS, {"x": each}, "macro.MRR AP") for each in (whole, found)]
    np.testing.assert_array_equal(ties[0].values, ties[1].values)
    assert ties[0].largest_group.tolist() == ties[1].largest_group.tolist()
    other = drawn_run(seed + 1, "other")
    drawn = [silently(stability, test, [each, other], "macro.MRR", sizes=[2], repeats=3) for each in (whole, found)]
    np.testing.assert_array_equal(drawn[0].scores, drawn[1].scores)
    scores = silently(evaluate, QRELS, {"whole": whole, "parts": found}, "macro.MRR", float32=True)
    assert scores.values[0] == scores.values[1]


def test_rows_of_a_question_in_two_places_are_refused(tmp_path: Path):
    """With the row and the way out, in one file and over two."""
    rows = {"question": ["a", "b", "a"], "entity": ["x", "x", "y"], "score": [1.0, 1.0, 1.0]}
    pq.write_table(pa.table(rows), tmp_path / "x.parquet")
    expected = r"x.parquet: expected the rows of each question together, found 'a' again in row 2; sort it first: kgt"
    for rows_at_a_time in (1, 2, 3):
        with pytest.raises(FormatError, match=expected):
            open_run(tmp_path / "x.parquet", rows_at_a_time=rows_at_a_time)
    (tmp_path / "y.run").mkdir()
    for part, (first, last) in enumerate(((0, 2), (2, 3))):
        pq.write_table(pa.table(rows).slice(first, last - first), tmp_path / "y.run" / f"part-{part}.parquet")
    with pytest.raises(FormatError, match=r"part-1.parquet: .* found 'a' again in row 0"):
        open_run(tmp_path / "y.run")


def test_a_folder_of_other_things_is_refused(tmp_path: Path):
    """Notes of other tools, whose names begin with . or _, are left alone."""
    folder = in_parts(tmp_path / "a.run", drawn_run(1), [])
    (folder / "_SUCCESS").touch()
    assert len(open_run(folder)) == len(drawn_run(1))
    (folder / "readme.txt").touch()
    with pytest.raises(FormatError, match=r"a.run: expected Parquet files and nothing else, found readme.txt"):
        open_run(folder)
    (tmp_path / "b.run").mkdir()
    with pytest.raises(FormatError, match=r"b.run: expected a folder of Parquet files, found none in it"):
        open_run(tmp_path / "b.run")


def test_parts_of_different_runs_are_refused(tmp_path: Path):
    (tmp_path / "a.run").mkdir()
    for name in ("one", "two"):
        write_run(tmp_path / "a.run" / f"{name}.parquet", drawn_run(1, name))
    expected = r"two.parquet: expected a part of the same run as one.parquet"
    for read in (open_run, partial(sort_run, target=tmp_path / "b.parquet")):
        with pytest.raises(FormatError, match=expected):
            read(tmp_path / "a.run")
    (tmp_path / "a.run" / "two.parquet").unlink()
    write_run(tmp_path / "a.run" / "two.parquet", replace(drawn_run(1, "one"), collection="of-another"))
    with pytest.raises(FormatError, match=expected):
        sort_run(tmp_path / "a.run", tmp_path / "b.parquet")


def test_a_file_that_changes_meanwhile_is_no_other_number(tmp_path: Path):
    write_run(tmp_path / "a.parquet", drawn_run(1))
    found = open_run(tmp_path / "a.parquet")
    pq.write_table(pa.table({"question": ["new"], "entity": ["x"], "score": [1.0]}), tmp_path / "a.parquet")
    with pytest.raises(FormatError, match=r"expected the labels that it had before, found others: it was changed"):
        list(found.parts())


def test_measures_that_need_the_whole_say_so(tmp_path: Path):
    """Those that ir-measures' providers compute."""
    write_run(tmp_path / "a.parquet", drawn_run(1))
    with pytest.raises(MeasureError, match=r"Compat .* whole run in memory"):
        silently(evaluate, QRELS, {"a": open_run(tmp_path / "a.parquet")}, "Compat")


def test_large_files_are_read_in_parts_by_every_command(tmp_path: Path, monkeypatch, capsys):
    """And folders, whose name is the system's; the numbers are those of the text."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(streamed_runs, "ROWS_IN_MEMORY", 3)
    whole = drawn_run(3, "sys")
    write_run("sys.run.gz", whole)
    write_run("sys.parquet", whole)
    write_qrels("qrels.txt", QRELS)
    assert isinstance(read_any_run("sys.parquet"), StreamedRun)
    main(["convert", "sys.run.gz", "parts/sys.run", "--to", "parts"])
    told = []
    for name in ("sys.run.gz", "sys.parquet", "parts/sys.run", "parts"):
        capsys.readouterr()
        main(["evaluate", "qrels.txt", name, "-m", MEASURES, "--format", "csv"])
        told.append(capsys.readouterr().out)
    assert told[0].startswith("system,measure,value\nsys,macro.MRR,")
    assert set(told) == {told[0]}
    main(["convert", "parts/sys.run", "again.run"])
    assert rows_of(read_run("again.run")) == rows_of(whole)


@given(runs(), st.integers(1, 6), st.randoms(use_true_random=False))
def test_sorting_gathers_the_rows_of_each_question(tmp_path_factory, run: Run, rows: int, random):
    """From text and Parquet in any order of lines: the same bytes however many temporary files there were."""
    folder = tmp_path_factory.mktemp("sort")
    write_run(folder / "x.run", run)
    lines = (folder / "x.run").read_bytes().decode().split("\n")[:-1]
    random.shuffle(lines)
    (folder / "mixed.run").write_bytes("".join(f"{line}\n" for line in lines).encode())
    made = []
    for number, size in enumerate((rows, 10**6)):
        assert sort_run(folder / "mixed.run", folder / f"{number}.parquet", rows=size) == len(run)
        made.append((folder / f"{number}.parquet").read_bytes())
    assert made[0] == made[1]
    sort_run(folder / "0.parquet", folder / "again.parquet", rows=rows)
    assert (folder / "again.parquet").read_bytes() == made[0]
    assert sorted(rows_of(joined(open_run(folder / "0.parquet")))) == sorted(rows_of(run))
    assert not [path for path in folder.iterdir() if path.is_dir()]


def test_sorting_refuses_what_reading_refuses(tmp_path: Path):
    """And leaves nothing behind."""
    (tmp_path / "x.run").write_text("q Q0 a 1 0.5 one\nr Q0 a 1 0.5 one\nq Q0 a 1 0.7 one\n")
    with pytest.raises(FormatError, match=r"x.run: expected each pair once, found \(q, a\) more than once"):
        sort_run(tmp_path / "x.run", tmp_path / "y.parquet")
    (tmp_path / "x.run").write_text("q Q0 a 1 0.5 one\nr Q0 a 1 0.5 two\n")
    with pytest.raises(FormatError, match=r"x.run:2: expected one run tag, found 2: 'two' here, 'one' on line 1"):
        sort_run(tmp_path / "x.run", tmp_path / "y.parquet")
    assert sort_run(tmp_path / "x.run", tmp_path / "y.run", name="both", parts=True) == 2
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["x.run", "y.run"]


def test_a_run_in_parts_is_replaced_and_what_others_made_is_not(tmp_path: Path, monkeypatch):
    """With force, by a shorter one too; one without its first part is not whole."""
    monkeypatch.setattr(run_files, "_PART_ROWS", 4)
    run, folder = drawn_run(5), tmp_path / "a.run"
    for force in (False, True):
        with RunWriter(folder, "a", parts=True, force=force) as out:
            for part in split(run):
                out.write(part)
        assert len(list(folder.glob("part-*.parquet"))) > 2
        assert rows_of(joined(open_run(folder))) == rows_of(run)
    with pytest.raises(FormatError, match="exists; force=True"), RunWriter(folder, "a", parts=True) as out:
        out.write(run)
    (folder / ".mine").touch()
    write_run(folder, run, name="a", parts=True, force=True)
    assert sorted(path.name for path in folder.iterdir()) == [".mine", "part-00000.parquet"]
    (folder / "part-00000.parquet").rename(folder / "part-00001.parquet")
    with pytest.raises(FormatError, match=r"expected part-00000\.parquet, which takes its place last, found none"):
        open_run(folder)


def split(run: Run) -> list[Run]:
    """A run of each question."""
    codes = np.unique(run.question)
    return [run.of_questions(Vocabulary.of([run.questions[code]])) for code in codes]


def test_answer_ranks_in_parts_are_those_of_one_file(tmp_path: Path):
    """A folder NAME.ranks."""
    test = collection_of(4, 6, {(q, q): 1 for q in range(4)})
    scores = np.random.default_rng(0).choice([0.0, 1.0], (4, 6))
    ranks = rank_scores(test, scores, questions=test, entities=test, name="s", depth=0).answer_ranks
    write_answer_ranks(tmp_path / "s.ranks.parquet", ranks)
    (tmp_path / "s.ranks").mkdir()
    for number, rows in enumerate(([2, 3], [0, 1])):
        write_answer_ranks(tmp_path / "s.ranks" / f"part-{number}.parquet", ranks.take(np.array(rows)))
    one, parts = (read_answer_ranks(tmp_path / name) for name in ("s.ranks.parquet", "s.ranks"))
    scores = evaluate(test, {"one": one, "parts": parts}, "micro.MRR AP")
    np.testing.assert_array_equal(scores.values[0], scores.values[1])
    write_answer_ranks(tmp_path / "s.ranks" / "part-2.parquet", ranks)
    with pytest.raises(FormatError, match=r"s.ranks: expected each pair once, found one again"):
        read_answer_ranks(tmp_path / "s.ranks")
