"""Write a system's answer ranks and run while they are computed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import Any

from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.collection import Collection
from kgtrec.data.qrels import Qrels
from kgtrec.data.triples import SPLITS
from kgtrec.formats.answer_ranks import write_answer_ranks
from kgtrec.formats.output.outputs import require_file
from kgtrec.formats.trec.runs import RunWriter
from kgtrec.ranking.rank import joined_answer_ranks, ranked_blocks


def write_ranked(
    collection: Collection,
    blocks: Any,
    name: str,
    out: str | Path,
    *,
    depth: int,
    filtered_by: tuple[str, ...] = SPLITS,
    run_format: str = "run.gz",
    judged: Qrels | None = None,
    progress: Callable[[str, int, str], AbstractContextManager[Callable[[int], None]]] | None = None,
) -> AnswerRanks:
    """Rank one system's scores; write its answer ranks and, unless ``depth`` is 0, its run.

    The run is written as the blocks come, so that memory does not grow with it. Neither file appears if ranking fails.
    """
    ranks, run = _paths(out, name, run_format)
    for path in (ranks, run) if depth else (ranks,):
        require_file(path, is_named=False)
    parts = []
    with ExitStack() as stack:
        writer = None
        if depth:
            to_run = RunWriter(run, name, collection=collection.fingerprint, filtered_by=filtered_by)
            writer = stack.enter_context(to_run)
        shown = nullcontext(None) if progress is None else progress(name, len(collection.questions), "questions")
        advance = stack.enter_context(shown)
        for part in ranked_blocks(
            collection,
            blocks,
            questions=collection,
            entities=collection,
            name=name,
            filtered_by=filtered_by,
            depth=depth,
            judged=judged,
            progress=advance,
        ):
            parts.append(part.answer_ranks)
            if writer is not None and part.run is not None:
                writer.write(part.run)
        joined = joined_answer_ranks(parts)
        write_answer_ranks(ranks, joined)  # before the run takes its place, so that a failure here leaves neither
    return joined


def written(name: str, out: str, depth: int, run_format: str) -> str:
    """What a person is told once a system is written."""
    ranks, run = _paths(out, name, run_format)
    return f"{name}: wrote {ranks}" + (f" and {run}" if depth else "")


def _paths(out: str | Path, name: str, run_format: str) -> tuple[Path, Path]:
    return Path(out, f"{name}.ranks.parquet"), Path(out, f"{name}.{run_format}")
