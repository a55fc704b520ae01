"""Write a system's answer ranks and run while they are computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, nullcontext
from pathlib import Path

from kgtrec.data.answer_ranks import joined_answer_ranks
from kgtrec.data.collection import Collection
from kgtrec.data.qrels import Qrels
from kgtrec.data.questions import SIDES
from kgtrec.data.triples import SPLITS
from kgtrec.errors import KgtrecError
from kgtrec.formats.answer_ranks import FORMAT as RANKS
from kgtrec.formats.answer_ranks import write_answer_ranks
from kgtrec.formats.output.outputs import require_file, require_folder
from kgtrec.formats.output.together import together
from kgtrec.formats.trec.runs import RunWriter, files_of_run
from kgtrec.ranking.executors import done_in_order
from kgtrec.ranking.plans import RankPlan, collected
from kgtrec.ranking.rank import Progress, Ranked, ShowProgress
from kgtrec.ranking.system import ranked_parts
from kgtrec.systems.kinds import SystemOutput, TripleRanks
from kgtrec.systems.mapping import Unknown
from kgtrec.workers.units import PATIENCE, Start

PARTS = "parts"  # the format of a run that is a folder of Parquet files


def write_ranked(
    collection: Collection,
    system: SystemOutput,
    out: str | Path,
    *,
    depth: int,
    sides: Sequence[str] = SIDES,
    unknown_entities: Unknown = "error",
    filtered_by: tuple[str, ...] = SPLITS,
    run_format: str = "run.gz",
    judged: Qrels | None = None,
    block: int | None = None,
    progress: ShowProgress | None = None,
) -> tuple[Path, Path | None]:
    """Rank one system; write its answer ranks and, unless ``depth`` is 0 or it has none to give, its run.

    The run is written as the blocks come, so that memory does not grow with it. Neither file appears if ranking fails.

    Returns
    -------
    ranks, run : path
        What was written; None where there is no run.

    Raises
    ------
    KgtrecError
        If the system's name is empty, or names another folder; or as :func:`kgtrec.rank_system`.
    """

    def parts(advance: Progress | None) -> Iterator[Ranked]:
        return ranked_parts(
            collection,
            system,
            sides=sides,
            unknown_entities=unknown_entities,
            filtered_by=filtered_by,
            depth=depth,
            judged=judged,
            block=block,
            progress=advance,
        )

    return write_parts(
        collection,
        system.name,
        parts,
        out,
        n_questions=len(collection.questions.rows_of(sides)),
        gives_run=depth > 0 and not isinstance(system, TripleRanks),
        filtered_by=filtered_by,
        run_format=run_format,
        progress=progress,
    )


def write_planned(
    plan: RankPlan,
    collection: Collection,
    out: str | Path,
    start: Start | None = None,
    *,
    run_format: str = "run.gz",
    patience: float = PATIENCE,
    progress: ShowProgress | None = None,
) -> tuple[Path, Path | None]:
    """Write the results of a plan's units, as :func:`write_ranked` does.

    Parameters
    ----------
    start : callable, optional
        Starts an executor, which does first what is left. Default: all units must be done.
    patience
        As for :func:`kgtrec.ranking.done_in_order`.
    """

    def parts(advance: Progress | None) -> Iterator[Ranked]:
        if start is None:
            return collected(plan, collection)
        return done_in_order(plan, collection, start, progress=advance, patience=patience)

    return write_parts(
        collection,
        plan.name,
        parts,
        out,
        n_questions=sum(plan.questions),
        gives_run=plan.candidates.depth > 0,
        filtered_by=plan.filtered_by,
        run_format=run_format,
        progress=progress,
    )


def write_parts(
    collection: Collection,
    name: str,
    parts: Callable[[Progress | None], Iterator[Ranked]],
    out: str | Path,
    *,
    n_questions: int,
    gives_run: bool,
    filtered_by: tuple[str, ...],
    run_format: str = "run.gz",
    progress: ShowProgress | None = None,
) -> tuple[Path, Path | None]:
    """Write what comes block by block, as :func:`write_ranked` does.

    Parameters
    ----------
    parts : callable
        Takes what is told of progress, if anything is, and gives the blocks.
    n_questions : int
        In all of them.
    gives_run : bool
    """
    ranks, run = require_outputs(name, out, run_format, gives_run=gives_run)
    answer_ranks = []
    with together(), ExitStack() as stack:
        writer = None
        if gives_run:
            to_run = RunWriter(
                run, name, collection=collection.stamp, filtered_by=filtered_by, parts=run_format == PARTS
            )
            writer = stack.enter_context(to_run)
        shown = nullcontext(None) if progress is None else progress(name, n_questions, "questions")
        for part in parts(stack.enter_context(shown)):
            answer_ranks.append(part.answer_ranks)
            if writer is not None and part.run is not None:
                writer.write(part.run)
        write_answer_ranks(ranks, joined_answer_ranks(answer_ranks))
    return ranks, run if gives_run else None


def outputs_of(name: str, out: str | Path, run_format: str) -> tuple[Path, Path]:
    """The files of a system's answer ranks and run.

    Raises
    ------
    KgtrecError
        If its name is empty, or names another folder.
    """
    if not name or Path(name).name != name:
        raise KgtrecError(f"expected the name of a system, after which its files are named, found {name!r}; rename it")
    return Path(out, f"{name}.ranks.parquet"), Path(out, f"{name}.{'run' if run_format == PARTS else run_format}")


def require_outputs(name: str, out: str | Path, run_format: str, *, gives_run: bool) -> tuple[Path, Path]:
    """:func:`outputs_of`, checked before anything is computed.

    Raises
    ------
    FormatError
        If somebody else's file or folder is in the place of one of them.
    """
    ranks, run = outputs_of(name, out, run_format)
    require_file(ranks, kind=RANKS)
    if gives_run and run_format == PARTS:
        require_folder(run, files_of_run)
    elif gives_run:
        require_file(run, kind="a run")
    return ranks, run


def written(name: str, ranks: Path, run: Path | None) -> str:
    """The message after a system is written."""
    return f"{name}: wrote {ranks}" + (f" and {run}" if run else "")
