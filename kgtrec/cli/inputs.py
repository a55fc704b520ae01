"""What commands are given to score: qrels or a collection, and systems."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from kgtrec.cli.common import say
from kgtrec.cli.options import trusts_ids
from kgtrec.errors import KgtrecError
from kgtrec.formats.files import reading, suffixes
from kgtrec.formats.parquet import is_parquet
from kgtrec.formats.trec.origins import is_origin_path
from kgtrec.formats.trec.runs import default_name, read_run, read_run_file

if TYPE_CHECKING:
    from kgtrec.data.answer_ranks import AnswerRanks
    from kgtrec.data.collection import Collection
    from kgtrec.data.qrels import Qrels
    from kgtrec.data.run import Run


_HEAD = 1 << 18  # bytes of a run whose rank column is looked at
_AT_ODDS = 0.1  # share of lines whose rank contradicts their score from which it is no matter of rounded scores


def files_of(systems: Sequence[str]) -> tuple[str, ...]:
    """The systems' files: of a folder its answer ranks, or if it has none its runs, in the order of their names."""
    files: list[str] = []
    for path in systems:
        if path == "-" or not Path(path).is_dir():
            if not is_origin_path(path):  # a pattern such as ranks/*.run* means the runs
                files.append(path)
            continue
        names = sorted(str(file) for file in Path(path).iterdir() if file.is_file())
        found = [name for name in names if name.endswith(".ranks.parquet")]
        found = found or [name for name in names if suffixes(name)[0] in (".run", ".parquet")]
        if not found:
            raise KgtrecError(f"{path}: expected a folder of NAME.ranks.parquet or NAME.run files, found neither")
        files += found
    return tuple(files)


def refuse_twice(qrels: str, systems: Sequence[str]) -> None:
    """Refuse, before anything is read, standard input that is named twice and files that would share a name."""
    if [qrels, *systems].count("-") > 1:
        raise KgtrecError("expected standard input (-) once, found it again; it can be read once")
    first: dict[str, str] = {}
    for path in systems:
        name = default_name(path)
        if name in first:
            raise KgtrecError(
                f"expected systems of different names, found {name!r} twice: {first[name]} and {path}; "
                + (
                    "if they are the run and the answer ranks of one system, give one kind of them, such as "
                    "*.ranks.parquet, or their folder; else rename one of the files"
                    if first[name].endswith(".ranks.parquet") != path.endswith(".ranks.parquet")
                    else "rename one of the files"
                )
            )
        first[name] = path


def systems_of(qrels: str, systems: Sequence[str]) -> tuple[tuple[str, ...], list[bool]]:
    """The systems' files, none named twice, and which of them hold answer ranks; nothing else of them is read."""
    files = files_of(systems)
    refuse_twice(qrels, files)
    return files, [holds_ranks_of(path) for path in files]


def read_judgements(path: str) -> Qrels | Collection:
    """The qrels, or the collection, that a path leads to."""
    from kgtrec.formats.trec.qrels import read_qrels

    if Path(path).is_dir():
        return read_folder(path)
    qrels = read_qrels(path)
    return replace(qrels, collection="") if trusts_ids() else qrels


def read_folder(folder: str) -> Collection:
    """The collection that a folder holds."""
    from kgtrec.formats.collections import read_collection

    return read_collection(folder)


def holds_ranks_of(path: str) -> bool:
    """Whether a system's file holds answer ranks; if not, it is read as a run, which says what is wrong with it."""
    if not is_parquet(path):
        return False
    from kgtrec.formats.sniff import sniff

    return sniff(path) == "answer ranks"


def read_systems(systems: Sequence[str], holds_ranks: Sequence[bool]) -> Iterator[Run | AnswerRanks]:
    """The systems one by one, each under the name of its file."""
    trust = trusts_ids()  # asked here: the reading may be left to a thread, which knows no command

    def read(path: str, *, ranks: bool) -> Run | AnswerRanks:
        if not ranks:
            run = read_run(path, name=None if path == "-" else default_name(path), trust_ids=trust)
            if not run.collection and path != "-":
                _tell_of_ranks(path)
            return run
        from kgtrec.formats.answer_ranks import read_answer_ranks

        return read_answer_ranks(path, trust_ids=trust).renamed(default_name(path))

    return (read(path, ranks=ranks) for path, ranks in zip(systems, holds_ranks, strict=True))


def _tell_of_ranks(path: str) -> None:
    """Tell of a run of another tool whose first lines are ranked otherwise than their scores are."""
    from kgtrec.evaluation.plausibility import check_ranks, read_ranks

    if is_parquet(path):
        return
    with reading(path) as stream:
        head = stream.read(_HEAD)
    try:
        lines = read_run_file(path, stream=io.BytesIO(head[: head.rfind(b"\n") + 1]), ranks=True).columns
    except KgtrecError:  # of the cut, since the whole was read
        return
    if lines is None:
        return
    ranks = read_ranks(list(lines.vocabularies["rank"]), lines.codes["rank"])
    off = len(check_ranks(lines.codes["question"], ranks, lines.number).off.row)
    if off > _AT_ODDS * len(ranks):
        say(
            f"note: {path}: on {off:,} of the first {len(ranks):,} lines the rank contradicts the score; the order is "
            "by score, higher first, as trec_eval has it: are they distances? kgtrec check tells more"
        )
