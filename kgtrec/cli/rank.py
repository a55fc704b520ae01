"""kgtrec rank."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from kgtrec.cli.common import progress, say
from kgtrec.cli.systems import read_questions, system_options
from kgtrec.data.collection import Collection
from kgtrec.errors import FormatError, KgtrecError, KgtrecWarning, naming
from kgtrec.formats.factorised import read_factorised
from kgtrec.formats.score_matrix import Block, read_score_matrix
from kgtrec.formats.trec.qrels import read_qrels
from kgtrec.ranking.write import write_ranked, written


@dataclass(frozen=True, slots=True)
class ScoreFile:
    """Where the scores of one system are, and what gives their order."""

    path: Path
    topics: str | None
    entities: str | None
    relations: str | None
    block: int | None

    @property
    def name(self) -> str:
        return self.path.stem

    def blocks(self, collection: Collection) -> Iterator[Block]:
        """The scores in the order of the questions; a file that does not match is refused at once."""
        if self.path.suffix.lower() == ".npz":
            return read_factorised(
                self.path, collection, entities=self.entities, relations=self.relations, block=self.block
            )
        return read_score_matrix(self.path, collection, topics=self.topics, entities=self.entities, block=self.block)


@click.command(name="rank")
@click.argument("collection", type=click.Path())
@click.argument("scores", nargs=-1, required=True, type=click.Path())
@system_options
@click.option(
    "--judged",
    "judged_path",
    type=click.Path(),
    help="Qrels with additional judged pairs, which also get answer ranks, even with a negative grade (pooled, not "
    "sampled).",
)
@click.option(
    "--entities",
    type=click.Path(),
    help="Entity labels, in the order of E's rows or a matrix's columns. Default: entities.txt beside the file; for a "
    "matrix, NAME.npy.json if it exists.",
)
@click.option(
    "--relations",
    type=click.Path(),
    help="Relation labels of an .npz archive, by number. Default: relations.txt beside it.",
)
@click.option(
    "--topics",
    type=click.Path(),
    help="Topics in the order of a matrix's rows. Default: NAME.npy.json, else topics.tsv beside it.",
)
def command(
    collection: str,
    scores: tuple[str, ...],
    out: str,
    depth: int,
    filtered_by: tuple[str, ...],
    judged_path: str | None,
    run_format: str,
    entities: str | None,
    relations: str | None,
    topics: str | None,
    block: int | None,
) -> None:
    """Turn SCORES into exact answer ranks and TREC runs, two files per system, named after the file of its scores.

    SCORES are factorised systems (.npz with E, Q, b and questions: a score is Q @ E.T + b), score matrices (.npy,
    questions x entities, in the order given by --topics and --entities, by topics.tsv and entities.txt beside them, or
    by NAME.npy.json from kgtrec stamp), or folders of them. COLLECTION is the folder that kgtrec questions wrote.

    \b
    kgtrec rank C transe.npz --out ranks
    kgtrec rank C systems/ --out ranks --depth 100 --run-format run.zst
    kgtrec rank C scores.npy --out ranks --topics C/topics.tsv --entities sorted.txt
    kgtrec rank C systems/ --out raw --filter raw --depth 0
    kgtrec evaluate C ranks/*.ranks.parquet
    """
    sources = [ScoreFile(path, topics, entities, relations, block) for path in _score_files(scores)]
    _refuse_same_names(sources)
    test = read_questions(collection)
    judged = read_qrels(judged_path) if judged_path else None
    with warnings.catch_warnings():
        # all files are opened before the first is ranked; their warnings are shown when they are ranked
        warnings.simplefilter("ignore", KgtrecWarning)
        for source in sources:
            source.blocks(test)
    for source in sources:
        with naming(source.path):
            write_ranked(
                test,
                source.blocks(test),
                source.name,
                out,
                depth=depth,
                filtered_by=filtered_by,
                run_format=run_format,
                progress=progress,
                judged=judged,
            )
        say(written(source.name, out, depth, run_format))


def _score_files(scores: tuple[str, ...]) -> list[Path]:
    files: list[Path] = []
    for score in scores:
        path = Path(score)
        if path.is_dir():
            found = sorted(file for file in path.iterdir() if file.suffix.lower() in (".npz", ".npy"))
            if not found:
                raise FormatError("expected .npz or .npy files in this folder, found none", path=path)
            files += found
        elif path.suffix.lower() not in (".npz", ".npy"):
            raise FormatError(
                "expected scores as .npz (factorised) or .npy (matrix), or a folder of them, found "
                + (f"a file that ends in {path.suffix!r}" if path.suffix else "a name without either suffix"),
                path=path,
            )
        else:
            files.append(path)
    return files


def _refuse_same_names(sources: list[ScoreFile]) -> None:
    first: dict[str, ScoreFile] = {}
    for source in sources:
        other = first.setdefault(source.name, source)
        if other is not source:
            raise KgtrecError(
                f"expected systems of different names, found {source.name!r} twice: {other.path} and {source.path}; "
                "rename one of the files"
            )
