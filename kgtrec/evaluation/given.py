"""Qrels and systems from what callers have: our types, paths, data frames, dicts of dicts, named tuples."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.collection import Collection
from kgtrec.data.frames import has_columns, holds_answer_ranks
from kgtrec.data.qrels import Qrels, grades_of
from kgtrec.data.run import AnyRun, Run, StreamedRun
from kgtrec.data.vocabulary import Codes, Vocabulary
from kgtrec.errors import KgtrecError, kind_of

if TYPE_CHECKING:
    import pandas as pd

System = AnyRun | AnswerRanks
#: what :func:`qrels_of` takes
AnyQrels: TypeAlias = "Qrels | Collection | pd.DataFrame"
#: what :func:`each_system` and :func:`each_run` take
Systems: TypeAlias = "System | pd.DataFrame | Iterable[System] | Mapping[str, System | pd.DataFrame]"
Runs: TypeAlias = "AnyRun | pd.DataFrame | Iterable[AnyRun] | Mapping[str, Any]"
RANKS_SUFFIXES = (".ranks.parquet", ".ranks")
_SYSTEMS = (Run, StreamedRun, AnswerRanks, str, os.PathLike)  # types of a single system


def qrels_of(qrels: Any) -> Qrels | Collection:
    """Make qrels, or a collection, of what a caller has.

    Parameters
    ----------
    qrels : Qrels, Collection, path, DataFrame, mapping or iterable
        A path leads to qrels or to a collection's folder. A data frame has ir-measures' columns
        ``query_id, doc_id, relevance`` or PyTerrier's ``qid, docno, label``; a mapping goes from a question to a
        mapping from entity to grade, as for pytrec_eval; an iterable contains named tuples such as
        ``ir_measures.Qrel``. Qrels of ranx are accepted too.

    Raises
    ------
    KgtrecError
        If it is of another kind.

    Examples
    --------
    >>> len(qrels_of({"q1": {"paris": 1, "rome": 0}}))
    2
    """
    if isinstance(qrels, Qrels | Collection):
        return qrels
    if isinstance(qrels, str | os.PathLike):
        from kgtrec.formats.collections import read_collection
        from kgtrec.formats.output.folders import SETTINGS
        from kgtrec.formats.trec.qrels import read_qrels

        if Path(qrels, SETTINGS).is_file():
            raise KgtrecError(
                f"{qrels}: expected qrels or the folder of a collection, found that of a campaign; kgtrec campaign "
                "qrels makes its qrels; kgtrec evaluate, meta power and meta compare estimate from a sample"
            )
        return read_collection(qrels) if Path(qrels).is_dir() else read_qrels(qrels)
    if _is_ranx(qrels):
        qrels = qrels.to_dataframe().rename(columns={"q_id": "query_id", "score": "relevance"})
    if has_columns(qrels):
        return Qrels.from_frame(qrels)
    pairs = _Pairs(qrels, "relevance", "grades", "Qrels, a Collection", "qrels")
    grade = grades_of(pairs.number, "as grades")
    return Qrels.of(pairs.question, pairs.entity, grade, pairs.questions, pairs.entities)


def system_of(system: Any, name: str | None = None) -> System:
    """Make a run or answer ranks of what a caller has.

    Parameters
    ----------
    system : Run, AnswerRanks, Ranked, path, DataFrame, mapping or iterable
        As for :func:`qrels_of`, with scores instead of grades: a data frame has ``query_id, doc_id, score`` or
        ``qid, docno, score``, or the columns of :meth:`AnswerRanks.to_frame`; a tuple is like
        ``ir_measures.ScoredDoc``. From the result of :func:`kgtrec.rank_scores` the answer ranks are used.
    name : str, optional
        Name of the system. Default: its own name, that of its file, or ``run``.

    Raises
    ------
    KgtrecError
        If it is of another kind.

    Examples
    --------
    >>> system_of({"q1": {"paris": 0.9, "rome": 0.1}}, "mine")
    <Run 'mine': 2 rows, 1 questions>
    """
    if _is_ranked(system):
        system = system.answer_ranks
    if isinstance(system, str | os.PathLike):
        system = _read(system)
    if isinstance(system, System):
        return system if name is None else system.renamed(name)
    if _is_ranx(system):
        name = name or getattr(system, "name", None)
        system = system.to_dataframe().rename(columns={"q_id": "query_id"})
    if holds_answer_ranks(system):
        return AnswerRanks.from_frame(system, name or "ranks")
    if has_columns(system):
        return Run.from_frame(system, name or "run")
    what = "a system" if name is None else f"system {name!r}"
    pairs = _Pairs(system, "score", "scores", "a Run, AnswerRanks", what)
    return Run.of(name or "run", pairs.question, pairs.entity, pairs.number, pairs.questions, pairs.entities)


def each_system(systems: Any, *, runs: bool = False) -> Iterator[System]:
    """Yield the systems one by one, from one that :func:`system_of` accepts, several of them, or a mapping from names.

    A path may lead to a folder of systems: then they are its answer ranks, or its runs if it has none or ``runs`` are
    asked for.
    """
    if is_named(systems) or has_columns(systems):
        yield from map(system_of, _files(systems, runs))
    elif isinstance(systems, Mapping) and _is_run(systems):
        yield system_of(systems)
    elif isinstance(systems, Mapping):
        for name, system in systems.items():
            if not isinstance(name, str):
                raise KgtrecError(f"expected texts as names of systems, found {name!r}")
            yield system_of(system, name)
    elif not isinstance(systems, Iterable):
        raise KgtrecError(f"expected systems, found {kind_of(systems)}")
    else:
        systems = iter(systems)
        first = list(islice(systems, 1))
        systems = chain(first, systems)
        if first and _is_row(first[0], "score"):
            yield system_of(systems)
            return
        for system in systems:
            if not is_named(system):
                raise KgtrecError(
                    f"expected a Run, AnswerRanks or path, found {kind_of(system)}; give others as a mapping from names"
                )
            yield from map(system_of, _files(system, runs))


def each_run(runs: Any) -> Iterator[AnyRun]:
    """Yield the runs one by one, from what :func:`each_system` accepts.

    Raises
    ------
    KgtrecError
        If there are answer ranks among them.
    """
    for system in each_system(runs, runs=True):
        if isinstance(system, AnswerRanks):
            raise KgtrecError(
                f"expected runs, found answer ranks of {system.name!r}, which do not contain other candidates"
            )
        yield system


def files_of_folder(path: str | os.PathLike[str], *, runs: bool = False) -> list[str]:
    """Find the answer ranks in a folder, or its runs if it has none or ``runs`` are asked for, sorted by name.

    Raises
    ------
    KgtrecError
        If it has neither.
    """
    from kgtrec.formats.files import suffixes
    from kgtrec.formats.parquet import is_in_parts

    visible = (path for path in Path(path).iterdir() if not path.name.startswith("."))
    names = sorted(str(path) for path in visible if path.is_file() or is_in_parts(path))
    ranks = [name for name in names if name.endswith(RANKS_SUFFIXES)]
    if ranks and not runs:
        return ranks
    files = [name for name in names if name not in ranks and suffixes(name)[0] in (".run", ".parquet")]
    if not files:
        wanted = "NAME.run files, found none" if runs else "NAME.ranks.parquet or NAME.run files, found neither"
        sampled = "; these look like scores of sampled candidates: see kgtrec meta sampled"
        hint = sampled if Path(path, "y_pred_neg.npy").exists() else ""
        raise KgtrecError(f"{os.fspath(path)}: expected a folder of {wanted}{hint}")
    return files


def _files(path: Any, runs: bool) -> Sequence[Any]:
    """What is given, or the files of the systems in a folder; one of a single system's Parquet files is that system."""
    from kgtrec.formats.parquet import is_in_parts, is_parquet

    if not isinstance(path, str | os.PathLike) or is_in_parts(path) or not Path(path).is_dir():
        return [path]
    names = [path.name for path in Path(path).iterdir() if not path.name.startswith((".", "_"))]
    if names and all(is_parquet(name) and not name.endswith((*RANKS_SUFFIXES, ".run.parquet")) for name in names):
        return [path]
    return files_of_folder(path, runs=runs)


def judgements_of(judgements: Any) -> Qrels:
    """Return the judgements of what :func:`qrels_of` accepts."""
    qrels = qrels_of(judgements)
    return qrels.qrels if isinstance(qrels, Collection) else qrels


def is_named(system: Any) -> bool:
    """Check whether it is a single system that has a name, or is in a file that has one."""
    return isinstance(system, _SYSTEMS) or _is_ranked(system) or _is_ranx(system)


def _is_ranx(table: Any) -> bool:
    """Whether it is qrels or a run of ranx, without importing ranx to find out."""
    return type(table).__module__.partition(".")[0] == "ranx" and hasattr(table, "to_dataframe")


def _is_ranked(system: Any) -> bool:
    """Whether it is a result of :func:`kgtrec.rank_scores`, which is above this module."""
    return isinstance(getattr(system, "answer_ranks", None), AnswerRanks)


def _read(path: str | os.PathLike[str]) -> System:
    from kgtrec.formats.answer_ranks import read_answer_ranks
    from kgtrec.formats.parquet import holds_ranks
    from kgtrec.formats.trec.runs import default_name
    from kgtrec.formats.trec.streamed_runs import read_any_run

    text = os.fspath(path)
    if holds_ranks(text):
        return read_answer_ranks(text).renamed(default_name(text))
    return read_any_run(text, name=default_name(text))


def _is_run(systems: Mapping[Any, Any]) -> bool:
    """Whether a mapping goes from questions to mappings from entities to numbers, not from names to systems."""
    first = next((system for system in systems.values() if not isinstance(system, Mapping) or system), None)
    return isinstance(first, Mapping) and isinstance(next(iter(first.values())), Real)


def _is_row(row: Any, value: str) -> bool:
    return all(hasattr(row, name) for name in ("query_id", "doc_id", value))


class _Pairs:
    """A number for each pair of question and entity, of a dict of dicts or of named tuples; labels are coded."""

    def __init__(self, system: Any, column: str, numbers: str, types: str, what: str) -> None:
        """Take what has ``numbers`` in a column; other ``types`` are accepted as ``what`` too, for messages."""
        if isinstance(system, Mapping) and all(isinstance(row, Mapping) for row in system.values()):
            self.questions, self.question = _coded([label for label, row in system.items() for _ in row], "questions")
            self.entities, self.entity = _coded([label for row in system.values() for label in row], "entities")
            self.number = _checked([number for row in system.values() for number in row.values()], numbers)
            return
        is_table = isinstance(system, Iterable) and not isinstance(system, Mapping | str | bytes)
        rows: list[Any] = list(system) if is_table else []
        if not is_table or not all(_is_row(row, column) for row in rows):
            raise KgtrecError(
                f"expected {types}, a path, a data frame, a dict of dicts or tuples with query_id, doc_id and {column} "
                f"as {what}, found {kind_of(system)}"
            )
        self.questions, self.question = _coded([row.query_id for row in rows], "questions")
        self.entities, self.entity = _coded([row.doc_id for row in rows], "entities")
        self.number = _checked([getattr(row, column) for row in rows], numbers)


def _coded(labels: list[Any], what: str) -> tuple[Vocabulary, Codes]:
    for label in labels:
        if not isinstance(label, str):
            raise KgtrecError(f"expected texts as {what}, found {label!r}; write str({label!r})")
    try:
        return Vocabulary.encoding(pa.array(labels, pa.string()))
    except (UnicodeEncodeError, pa.ArrowInvalid) as error:
        raise KgtrecError(f"expected texts that UTF-8 can encode, found {error}") from None


def _checked(numbers: list[Any], what: str) -> NDArray[np.float64]:
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, Real):
            raise KgtrecError(f"expected numbers as {what}, found {number!r}")
    return np.array(numbers, np.float64)
