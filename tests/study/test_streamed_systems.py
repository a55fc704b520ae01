"""Studies of systems in parts: the tables of the same systems in memory, to the bit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.run import Run
from kgtrec.formats.answer_ranks import write_answer_ranks
from kgtrec.formats.collections import write_collection
from kgtrec.formats.trec import runs as run_files
from kgtrec.formats.trec import streamed_runs
from kgtrec.formats.trec.qrels import write_qrels
from kgtrec.formats.trec.runs import RunWriter, write_run
from kgtrec.ranking.rank import rank_scores
from kgtrec.study.run import run_study
from tests.collections_by_hand import collection_of
from tests.examples import examples
from tests.studies import ALL, MORE, study_toml

N_QUESTIONS, N_ENTITIES = 8, 12
COLLECTION = collection_of(N_QUESTIONS, N_ENTITIES, {(q, e): 1 for q in range(N_QUESTIONS) for e in (q, q + 2)})
GRADES = {(q, e): grade for q in range(N_QUESTIONS) for e, grade in ((q, 1), (q + 1, 1), (q + 2, 0))}
JUDGED = collection_of(N_QUESTIONS, N_ENTITIES, GRADES).qrels


def write_config(folder: Path, name: str, systems: dict[str, list[str]], *measures: str) -> Path:
    path = folder / f"{name}.toml"
    text = study_toml(
        data={"collection": "C"},
        systems=systems,
        labels=ALL | MORE,
        measures={"names": measures, "unlisted_answers": "candidates", "resamples": 20},
        stability={"sizes": [0.5], "repeats": 3},
        correlation={"pairs": [["all", "more"]]},
        report={"formats": ["csv"]},
    )
    path.write_text(text)
    return path


def tables(study: Path) -> dict[str, bytes]:
    """Every table of the study's steps, without the keys of the steps."""
    found = {
        f"{path.parent.name.rpartition('-')[0]}/{path.name}": path.read_bytes()
        for path in sorted((study / "steps").glob("*/*.parquet"))
    }
    return found | {path.name: path.read_bytes() for path in sorted((study / "data").iterdir())}


def scores_of(seed: int) -> np.ndarray:
    """Many of them equal."""
    return np.random.default_rng(seed).integers(0, 5, (N_QUESTIONS, N_ENTITIES)).astype(float)


def ranked(seed: int, name: str) -> tuple[AnswerRanks, Run]:
    found = rank_scores(
        COLLECTION, scores_of(seed), questions=COLLECTION, entities=COLLECTION, name=name, depth=6, judged=JUDGED
    )
    assert found.run is not None
    return found.answer_ranks, found.run


def of_each_question(run: Run) -> list[Run]:
    codes = np.unique(run.question)
    return [
        replace(run, **{name: getattr(run, name)[run.question == code] for name in ("question", "entity", "score")})
        for code in codes
    ]


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("study")
    write_collection(made / "C", COLLECTION)
    write_qrels(made / "more.txt", replace(JUDGED, collection=COLLECTION.stamp))
    return made


@pytest.mark.slow
@given(st.integers(0, 2**32), st.integers(1, 20))
@settings(max_examples=examples(3), deadline=None)
def test_runs_in_parts_have_the_tables_of_text(place, seed, rows):
    """As folders, and as large Parquet files: scores, tests, correlations, ties and stability."""
    folders = {kind: Path(f"{kind}-{seed}-{rows}") for kind in ("text", "folder", "file")}
    for folder in folders.values():
        (place / folder).mkdir(exist_ok=True)
    for number, name in enumerate("abc"):
        _, run = ranked(seed + number, name)
        write_run(place / folders["text"] / f"{name}.run", run)
        with (
            mock.patch.object(run_files, "_PART_ROWS", rows),
            RunWriter(
                place / folders["folder"] / f"{name}.run",
                name,
                collection=run.collection,
                filtered_by=run.filtered_by,
                parts=True,
            ) as out,
        ):
            for part in of_each_question(run):
                out.write(part)
        write_run(place / folders["file"] / f"{name}.parquet", run)
    found = {}
    for kind, folder in folders.items():
        config = write_config(place, f"study-{folder}", {"runs": [f"{folder}"]}, "AP@5", "macro.MRR", "nDCG@5")
        with mock.patch.object(streamed_runs, "ROWS_IN_MEMORY", 0 if kind == "file" else 1 << 24):
            run_study(config)
        found[kind] = tables(config.with_suffix(""))
    assert found["folder"] == found["text"]
    assert found["file"] == found["text"]
    assert len(found["text"]) > 10


@pytest.mark.slow
def test_answer_ranks_in_parts_have_the_tables_of_one_file(place):
    """Beside a file of another system, and named one by one or by a pattern."""
    for folder in ("one", "parts"):
        (place / folder).mkdir()
    for number, name in enumerate("ab"):
        ranks, _ = ranked(number, name)
        write_answer_ranks(place / "one" / f"{name}.ranks.parquet", ranks)
        if name == "b":
            write_answer_ranks(place / "parts" / "b.ranks.parquet", ranks)
            continue
        (place / "parts" / "a.ranks").mkdir()
        columns = ("question", "entity", "answer", "above", "tied", "n_other", "score")
        for part, rows in enumerate((slice(5, None), slice(0, 5))):
            own = replace(ranks, **{column: getattr(ranks, column)[rows] for column in columns})
            write_answer_ranks(place / "parts" / "a.ranks" / f"part-{part:05}.parquet", own)
    found = []
    for n, ranks in enumerate((["one"], ["parts"], ["parts/*"], ["parts/a.ranks", "parts/b.ranks.parquet"])):
        config = write_config(place, f"ranks-{n}", {"ranks": ranks}, "micro.MRR", "macro.MRR")
        run_study(config)
        found.append(tables(config.with_suffix("")))
    assert found[1:] == [found[0]] * 3


@pytest.mark.slow
def test_a_part_that_changes_is_computed_again(place):
    """The keys of the steps are those of the parts' contents."""
    (place / "changing" / "a.run").mkdir(parents=True)
    told: list[str] = []
    for seed in (1, 1, 2):
        for number, name in enumerate("ab"):
            path = place / "changing" / ("a.run/part-00000.parquet" if name == "a" else "b.run")
            write_run(path, ranked(seed * (2 - number), name)[1], force=True)
        run_study(write_config(place, "change", {"runs": ["changing"]}, "AP@5"), say=told.append)
    counts = [line for line in told if "computed" in line and "already" in line]
    assert counts[1].startswith("0 steps computed")
    assert not counts[2].startswith("0 steps computed")
