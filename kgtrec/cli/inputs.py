"""Input of the commands that score: qrels or a collection, and systems."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from kgtrec.cli.common import say
from kgtrec.cli.options import is_mixed
from kgtrec.data.run import Run
from kgtrec.errors import CollectionError, KgtrecError, nearest
from kgtrec.formats.files import reading
from kgtrec.formats.output.folders import SETTINGS
from kgtrec.formats.parquet import holds_ranks, is_in_parts, is_parquet
from kgtrec.formats.trec.origins import is_origin_path
from kgtrec.formats.trec.runs import default_name, read_run_file
from kgtrec.formats.trec.streamed_runs import read_any_run

if TYPE_CHECKING:
    from kgtrec.data.answer_ranks import AnswerRanks
    from kgtrec.data.collection import Collection
    from kgtrec.data.qrels import Qrels
    from kgtrec.data.run import AnyRun
    from kgtrec.data.sampled_qrels import SampledQrels


AnyPath = TypeVar("AnyPath", str, Path)

_UNWRITABLE = frozenset("\t\r\n")  # in runs.tsv
_HEAD = 1 << 18  # the rank column is checked in this many bytes of a run
_AT_ODDS = 0.1  # with a smaller share of lines whose rank contradicts the score, rounded scores may be the reason


def files_of(systems: Sequence[str], *, runs: bool = False) -> tuple[str, ...]:
    """Return the files of the systems, sorted by name in a folder: its answer ranks, or if it has none its runs.

    ``runs``: the runs of a folder in any case.
    """
    from kgtrec.evaluation.given import files_of_folder

    files: list[str] = []
    for path in systems:
        if path != "-" and Path(path).is_dir() and not is_in_parts(Path(path)):
            files += files_of_folder(path, runs=runs)
        elif not is_origin_path(path):  # a pattern such as ranks/*.run* means the runs
            files.append(path)
    return tuple(files)


def refuse_second_input(paths: Iterable[Any]) -> None:
    """Raise an error for standard input among several files that is given twice."""
    if list(paths).count("-") > 1:
        raise KgtrecError("expected standard input (-) once, found it again; it can be read once")


def refuse_twice(qrels: str, systems: Sequence[str]) -> None:
    """Before anything is read: raise an error for standard input given twice, and for systems with the same name."""
    refuse_second_input([qrels, *systems])
    by_name((default_name(path), path) for path in systems)


def by_name(named: Iterable[tuple[str, AnyPath]], what: str = "systems") -> dict[str, AnyPath]:
    """Map names to files; KgtrecError if two files have the same name."""
    file_of: dict[str, AnyPath] = {}
    for name, path in named:
        if name in file_of:
            other_kind = str(file_of[name]).endswith(".ranks.parquet") != str(path).endswith(".ranks.parquet")
            raise KgtrecError(
                f"expected {what} of different names, found {name!r} twice: {file_of[name]} and {path}; "
                + "if they are the run and the answer ranks of one system, give only one of the two kinds, such as "
                "*.ranks.parquet, or their folder; otherwise " * other_kind + "rename one of them"
            )
        file_of[name] = path
    return file_of


def systems_of(qrels: str, systems: Sequence[str]) -> tuple[tuple[str, ...], list[bool]]:
    """Return the files of the systems, with different names, and which of them are answer ranks."""
    files = files_of(systems)
    refuse_twice(qrels, files)
    return files, [holds_ranks(path) for path in files]


def read_questions(folder: str) -> Collection:
    """Return the collection of a folder, for systems that answer triple questions.

    Raises
    ------
    CollectionError
        If it is an entity alignment, whose candidates are not all entities.
    """
    from kgtrec.formats.collections import read_collection

    collection = read_collection(folder)
    if collection.is_alignment:
        raise CollectionError(
            f"{folder}: expected a collection of triple questions, found the collection of an entity alignment, whose "
            "candidates are the entities of one side only; use kgtrec align"
        )
    return collection


def is_campaign(path: str) -> bool:
    """Check whether the folder of a campaign is at the path, in place of qrels."""
    return Path(path, SETTINGS).is_file()


def read_sampled(path: str, machine: str | None = None) -> SampledQrels:
    """Read what is judged of the designed sample of the campaign at the path, and what one of its machines says."""
    from kgtrec.campaign.sampled import sampled_qrels
    from kgtrec.formats.campaign.folder import read_campaign
    from kgtrec.formats.campaign.machines import read_machine

    campaign = read_campaign(path)
    sampled = sampled_qrels(campaign, None if machine is None else read_machine(path, machine, campaign.pool))
    return replace(sampled, collection="") if is_mixed() else sampled


def read_judgements(path: str) -> Qrels | Collection:
    """Read the qrels or the collection at a path."""
    from kgtrec.data.qrels import Qrels
    from kgtrec.evaluation.given import qrels_of

    qrels = qrels_of(path)
    return replace(qrels, collection="") if isinstance(qrels, Qrels) and is_mixed() else qrels


def read_systems(systems: Sequence[str], holds_ranks: Sequence[bool]) -> Iterator[AnyRun | AnswerRanks]:
    """Read the systems one by one, each under the name of its file."""
    mixed = is_mixed()  # read here: files may be read by another thread, which has no click context

    def read(path: str, *, ranks: bool) -> AnyRun | AnswerRanks:
        if not ranks:
            run = read_any_run(path, name=None if path == "-" else default_name(path))
            if isinstance(run, Run) and not run.collection and path != "-":
                _note_ranks(path)
            return replace(run, collection="") if mixed else run
        from kgtrec.formats.answer_ranks import read_answer_ranks

        ranks_of_file = read_answer_ranks(path).renamed(default_name(path))
        return replace(ranks_of_file, collection="") if mixed else ranks_of_file

    return (read(path, ranks=ranks) for path, ranks in zip(systems, holds_ranks, strict=True))


def _note_ranks(path: str) -> None:
    """Print a note if the rank column of another tool's run contradicts the scores in the first lines."""
    from kgtrec.evaluation.plausibility import ranks_off, read_ranks

    if is_parquet(path):
        return
    with reading(path) as stream:
        head = stream.read(_HEAD)
    try:
        lines = read_run_file(path, stream=io.BytesIO(head[: head.rfind(b"\n") + 1]), ranks=True).columns
    except KgtrecError:  # an error because the run was cut, as the whole run was read without one
        return
    if lines is None:
        return
    ranks = read_ranks(list(lines.vocabularies["rank"]), lines.codes["rank"])
    off = len(ranks_off(lines.codes["question"], ranks, lines.number).row)
    if off > _AT_ODDS * len(ranks):
        say(
            f"note: {path}: on {off:,} of the first {len(ranks):,} lines the rank contradicts the score; as in "
            "trec_eval, higher scores come first; check whether the scores are distances, see kgtrec check"
        )


def read_families_of(texts: Sequence[str], files: Sequence[str], n: range = range(1, sys.maxsize)) -> dict[str, str]:
    """Return run -> family, from names, patterns and files; a run, named by its file, has at most one family.

    There are to be ``n`` families, where a run without one counts as its own.
    """
    from kgtrec.evaluation.families import SEEDS, family_of_each, seeds_of
    from kgtrec.formats.campaign.pools import read_families

    runs = [default_name(file) for file in files]
    if wrong := next((run for run in runs if not _UNWRITABLE.isdisjoint(run)), None):
        raise KgtrecError(f"expected names of runs without tab and line break, found {wrong!r}; rename the file")
    family_of: dict[str, str] = {}
    for text in texts:
        pattern, equals, name = text.partition("=")
        if text == SEEDS:
            named = seeds_of(runs)
        elif equals:
            named = {run: name for run in runs if fnmatchcase(run, pattern)}
            if not name.strip():
                raise KgtrecError(f"--family: expected PATTERN=NAME, found no name in {text!r}")
            if not _UNWRITABLE.isdisjoint(name):
                raise KgtrecError(f"--family: expected a name without tab and line break, found {name!r}")
            if not named:
                raise KgtrecError(
                    f"--family: expected a pattern that matches a run ({', '.join(runs[:5])}), found {pattern!r}"
                    f"{nearest(pattern, runs)}"
                )
        else:
            if not Path(text).exists() or Path(text).is_dir():
                raise KgtrecError(
                    f"--family: expected seeds, PATTERN=NAME (such as 'transe*=transe') or a file, found {text!r}"
                    f"{nearest(text, [SEEDS])}"
                )
            named = read_families(Path(text), runs)
        for run, family in named.items():
            if family_of.setdefault(run, family) != family:
                raise KgtrecError(f"--family: expected one family for {run!r}, found {family_of[run]!r} and {family!r}")
    found = dict.fromkeys(family_of_each(runs, family_of).values())
    if len(found) not in n:
        wanted = "two families to compare" if len(n) == 1 else "at least two families to distinguish"
        raise KgtrecError(f"--family: expected {wanted}, found {len(found)}: {', '.join(found)}; name the seeds of two")
    return family_of
