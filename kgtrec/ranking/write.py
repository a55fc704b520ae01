"""Write a system's answer ranks and run while they are computed."""

from __future__ import annotations

from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Unpack

from kgtrec.data.answer_ranks import joined_answer_ranks
from kgtrec.data.collection import Collection
from kgtrec.data.progress import ShowProgress
from kgtrec.errors import KgtrecError
from kgtrec.formats.answer_ranks import FORMAT as RANKS
from kgtrec.formats.answer_ranks import write_answer_ranks
from kgtrec.formats.output.outputs import require_file, require_folder, together
from kgtrec.formats.trec.origins import remove_other_runs, require_no_runs
from kgtrec.formats.trec.runs import RunWriter, files_of_run
from kgtrec.ranking.journal import remove_unfinished
from kgtrec.ranking.options import RankKeywords, RankOptions
from kgtrec.ranking.system import ranked_parts
from kgtrec.systems.kinds import SystemOutput, TripleRanks
from kgtrec.workers.results import Helper

PARTS = "parts"  # the format of a run that is a folder of Parquet files


def write_ranked(
    collection: Collection,
    system: SystemOutput,
    out: str | Path,
    *,
    run_format: str = "run.gz",
    workers: int | None = None,
    executor: Helper | None = None,
    unfinished: Path | None = None,
    progress: ShowProgress | None = None,
    **options: Unpack[RankKeywords],
) -> tuple[Path, Path | None]:
    """Rank one system; write its answer ranks and, unless ``depth`` is 0 or it has none to give, its run.

    The run is written as the blocks come, so that memory does not grow with it. Neither file appears if ranking fails.

    Parameters
    ----------
    collection : Collection
        The questions to rank.
    system : Scorer, Factors, ScoreBlocks, RankedLists, CollectionLists or TripleRanks
        What is ranked; its name names the files.
    out : path
        The folder to write to.
    run_format : str
        Suffix of the run's file, or "parts" for a folder of Parquet files. Default: "run.gz".
    workers, executor
        Of a factorised model, as for :meth:`kgtrec.ranking.grid.Grid.parts`.
    unfinished : path, optional
        Folder of the finished blocks of a factorised model, with which a ranking that was interrupted goes on. Default:
        ``NAME.unfinished`` beside the results.
    progress : callable, optional
        Shows how far it is: takes description, total and unit, and gives a context manager with a function of how much
        more is done.
    **options
        As for :func:`kgtrec.rank_model`.

    Returns
    -------
    ranks, run : path
        What was written; None where there is no run.

    Raises
    ------
    KgtrecError
        If the system's name is empty, or names another folder; or as :func:`kgtrec.rank_system`.
    """
    chosen = RankOptions(**options)
    gives_run = chosen.depth > 0 and not isinstance(system, TripleRanks)
    ranks, run = require_outputs(system.name, out, run_format, gives_run=gives_run)
    unfinished = unfinished or unfinished_of(system.name, out)
    parts = []
    with together():
        with ExitStack() as stack:
            writer = None
            if gives_run:
                splits, in_parts = tuple(chosen.filtered_by), run_format == PARTS
                to_run = RunWriter(run, system.name, collection=collection.stamp, filtered_by=splits, parts=in_parts)
                writer = stack.enter_context(to_run)
            n_questions = len(collection.questions.rows_of(chosen.sides))
            shown = nullcontext(None) if progress is None else progress(system.name, n_questions, "questions")
            for part in ranked_parts(
                collection,
                system,
                chosen,
                workers=workers,
                executor=executor,
                unfinished=unfinished,
                progress=stack.enter_context(shown),
            ):
                parts.append(part.answer_ranks)
                if writer is not None and part.run is not None:
                    writer.write(part.run)
            digest = write_answer_ranks(ranks, joined_answer_ranks(parts))
            if writer is not None:
                writer.of_ranks(digest)
        remove_other_runs(ranks, digest, written=run if gives_run else None)
    remove_unfinished(unfinished)
    return ranks, run if gives_run else None


def unfinished_of(name: str, out: str | Path) -> Path:
    """Name the folder of the finished blocks of a system whose ranking was interrupted."""
    return Path(out, f"{name}.unfinished")


def outputs_of(name: str, out: str | Path, run_format: str) -> tuple[Path, Path]:
    """Name the files of a system's answer ranks and run.

    Raises
    ------
    KgtrecError
        If its name is empty, or names another folder.
    """
    if not name or Path(name).name != name:
        raise KgtrecError(f"expected the name of a system, after which its files are named, found {name!r}; rename it")
    return Path(out, f"{name}.ranks.parquet"), Path(out, f"{name}.{'run' if run_format == PARTS else run_format}")


def require_outputs(name: str, out: str | Path, run_format: str, *, gives_run: bool) -> tuple[Path, Path]:
    """Check the files of :func:`outputs_of` before anything is computed.

    Raises
    ------
    FormatError
        If somebody else's file or folder has the name of one of them.
    """
    ranks, run = outputs_of(name, out, run_format)
    require_file(ranks, kind=RANKS)
    require_no_runs(ranks)
    if gives_run and run_format == PARTS:
        require_folder(run, files_of_run)
    elif gives_run:
        require_file(run, kind="a run")
    return ranks, run
