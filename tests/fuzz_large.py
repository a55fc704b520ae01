"""Damaged files of models and runs that do not fit the memory: factor folders, results in parts."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import cast

import numpy as np
import pyarrow.parquet as pq

from kgtrec.data.collection import Collection
from kgtrec.data.run import Run
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.formats.answer_ranks import read_answer_ranks, write_answer_ranks
from kgtrec.formats.factor_folders import BY_QUESTION, FactorArrays, write_factor_folder
from kgtrec.formats.output.outputs import replacing
from kgtrec.formats.trec.runs import write_run
from kgtrec.formats.trec.streamed_runs import open_run, sort_run
from kgtrec.kernels.rows import JoinedRows
from kgtrec.ranking.options import RankOptions
from kgtrec.ranking.rank import Ranked
from kgtrec.ranking.system import rank_system, ranked_parts
from kgtrec.systems.factor_folders import arrays_of
from kgtrec.systems.formulas import factorised
from kgtrec.systems.registry import read_system
from tests.collections_by_hand import collection_of
from tests.fuzz_targets import Target, array_of, array_text, parts


def targets_of_large_models(folder: Path) -> dict[str, Callable[[], Target]]:
    """Each format by its name; its example files are made in ``folder`` when it is called."""
    return {
        "factor folders": partial(_factor_folder, folder / "factors", "complex"),
        "arrays of factor folders": partial(_arrays_of_factors, folder / "arrays-of-factors"),
        "factor folders with operators": partial(_factor_folder, folder / "operators", "biggraph"),
        "factor folders by question": partial(_factor_folder, folder / "by-question", BY_QUESTION),
        "runs in parts": partial(_run_in_parts, folder / "parts"),
        "answer ranks in parts": partial(_ranks_in_parts, folder / "ranks-in-parts"),
    }


def _collection() -> Collection:
    grades = {(0, 1): 1, (0, 3): 1, (1, 2): 1, (1, 0): 0, (2, 5): 1}
    return collection_of(3, 6, grades, {(0, 2, 0), (2, 1, 1)})


def _factors(collection: Collection, score: str) -> FactorArrays:
    rng, asked = np.random.default_rng(3), collection.questions
    n = len(collection.entities)
    E = JoinedRows(np.split(rng.integers(-2, 3, (n, 4)).astype(np.float16), [2]))
    b, n_relations = rng.random(n, np.float32), len(collection.relations)
    if score == BY_QUESTION:
        numbers = np.stack([asked.is_head, asked.relation, asked.anchor], axis=1).astype(np.int32)
        labels = collection.entities, collection.relations
        return FactorArrays(score, {}, False, *labels, E, b, Q=rng.random((len(asked), 4)), questions=numbers)
    settings = {"operator": "complex_diagonal", "comparator": "cos", "bias": True} if score == "biggraph" else {}
    R = rng.random((2 * n_relations, 4))
    return FactorArrays(score, settings, True, collection.entities, collection.relations, E, b, R)


def _factor_folder(folder: Path, score: str) -> Target:
    """A file is changed; what is read is ranked, and written again."""
    collection, again = _collection(), folder.with_name(f"{folder.name}-again")
    write_factor_folder(folder, _factors(collection, score))

    def read() -> object:
        system = read_system(folder, "factors")
        ranked = rank_system(collection, system, depth=3, block=2, unknown_entities="last")
        shutil.rmtree(again, ignore_errors=True)
        write_factor_folder(again, arrays_of(system))
        return _used(ranked)

    return parts(folder, _files(folder), read)


def _used(ranked: Ranked) -> object:
    return evaluate(_collection(), [ranked.answer_ranks], ["micro.MRR"]), ranked.run


def _files(folder: Path) -> dict[str, bytes]:
    found = {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*")) if path.is_file()}
    return {name: path.read_bytes() for name, path in found.items()}


def _of_known(data: bytes, arrays: dict[str, np.ndarray]) -> tuple[str, np.ndarray]:
    """An array under the name of one of these; a name that was changed too stands for any of them."""
    name, array = array_of(data)
    return name if name in arrays else list(arrays)[len(name) % len(arrays)], array


def _arrays_of_factors(folder: Path) -> Target:
    """Type, shape or numbers of an array of a factor folder are changed."""
    target = _factor_folder(folder, "biggraph")
    arrays = {path.name: np.load(path) for path in sorted(folder.glob("*.npy"))}

    def put(data: bytes) -> None:
        for name, whole in (arrays | dict([_of_known(data, arrays)])).items():
            np.save(folder / name, whole)

    return Target([array_text(*each) for each in arrays.items()], put, target.read)


def _ranked_by_parts() -> list[Ranked]:
    """The results of the question blocks of a small model."""
    collection = _collection()
    factors = _factors(collection, "complex")
    made = factorised("a", factors)
    return list(ranked_parts(collection, made, RankOptions(depth=4, block=2)))


def _plain(path: Path) -> bytes:
    """A Parquet file without compression, whose bytes are those of the values."""
    sink = io.BytesIO()
    pq.write_table(pq.read_table(path), sink, compression="none", use_dictionary=False)
    return sink.getvalue()


def _run_in_parts(folder: Path) -> Target:
    """One of the files is changed; the run is evaluated and sorted."""
    folder = folder / "a.run"
    folder.mkdir(parents=True)
    for number, part in enumerate(_ranked_by_parts()):
        write_run(folder / f"part-{number:05}.parquet", cast("Run", part.run))
    files = {path.name: path.read_bytes() for path in sorted(folder.glob("*.parquet"))}
    plain = {name: _plain(folder / name) for name in files}

    def read() -> object:
        run = open_run(folder, rows_at_a_time=2)
        found = [len(part) for part in run.parts()], evaluate(_collection(), [run], ["macro.MRR", "AP@3"], mixed=True)
        with replacing():
            return found, sort_run(folder, folder.with_name("sorted.parquet"), rows=2)

    return parts(folder, files, read, more=plain)


def _ranks_in_parts(folder: Path) -> Target:
    """One of the files is changed; the answer ranks are evaluated."""
    folder = folder / "a.ranks"
    folder.mkdir(parents=True)
    for number, part in enumerate(_ranked_by_parts()):
        write_answer_ranks(folder / f"part-{number:05}.parquet", part.answer_ranks)
    files = {path.name: path.read_bytes() for path in sorted(folder.glob("*.parquet"))}
    plain = {name: _plain(folder / name) for name in files}

    def read() -> object:
        return evaluate(_collection(), [read_answer_ranks(folder)], ["micro.MRR"], mixed=True)

    return parts(folder, files, read, more=plain)
