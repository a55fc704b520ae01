"""kgtrec align."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pyarrow as pa

from kgtrec.alignment.align import CANDIDATES, Candidates, align, alignment_collection
from kgtrec.alignment.by_size import study_alignment
from kgtrec.cli.common import say
from kgtrec.cli.inputs import by_name
from kgtrec.cli.options import COUNT, PATH, force_option, measure_option, option, samples, seed_option, sizes_of
from kgtrec.data.alignments import Alignments, AlignmentStudy
from kgtrec.data.collection import Collection
from kgtrec.data.table import Table
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError, KgtrecError, in_file
from kgtrec.formats.alignment import LEFT, RIGHT, AlignmentSystem, read_alignment_system, read_pairs
from kgtrec.formats.answer_ranks import FORMAT as RANKS
from kgtrec.formats.answer_ranks import write_answer_ranks
from kgtrec.formats.collections import is_collection, read_collection, require_writable, write_collection
from kgtrec.formats.output.outputs import is_replacing, require_file, write_text
from kgtrec.formats.trec.topics import read_label_lines
from kgtrec.formats.triples import describe_input
from kgtrec.kernels.ranking.similarity import SIMILARITIES, Similarity
from kgtrec.measures.names import parse_measures
from kgtrec.report.progress import progress_bar
from kgtrec.report.records import table_csv
from kgtrec.report.show import table_text

_STUDY = ("study.csv", "study-summary.csv")


@click.command(name="align")
@click.argument("systems", nargs=-1, required=True, type=click.Path())
@option("--out", "Folder for the collection and each NAME.ranks.parquet.", PATH, required=True)
@option("--similarity", "Similarity of vectors.", SIMILARITIES, "cosine")
@option("--candidates", "Entities of the test alignments, or all.", CANDIDATES, "test")
@option("--alignments", "Test alignments, left TAB right. Default: row i with row i.", PATH)
@option("--train", "Train alignments, which do not count as wrong answers.", PATH)
@option("--left-labels", "Labels of the left rows, one per line. Default: row numbers.", PATH)
@option("--right-labels", "Labels of the right rows, one per line. Default: row numbers.", PATH)
@option(
    "--by-size --study sizes",
    "Also score test sets of these sizes, such as 500 or 0.1,0.5.",
    metavar="SIZES",
    callback=sizes_of,
)
@option("--repeats", "Test sets per size of --by-size.", samples(1), 10)
@seed_option
@measure_option("MR, Hits@1, MRR and AMRI (micro)")
@option("--block", "Questions scored at a time. Default: as many as fill 64 MiB.", COUNT)
@force_option
def command(
    systems: tuple[str, ...],
    out: str,
    similarity: Similarity,
    candidates: Candidates,
    alignments: str | None,
    train: str | None,
    left_labels: str | None,
    right_labels: str | None,
    sizes: list[int | float] | None,
    measures: tuple[str, ...],
    block: int | None,
    **drawing: Any,
) -> None:
    """Rank the test alignments of two graphs' entities in both directions. SYSTEMS are vectors of both sides (.npz, or
    a folder with left.npy and right.npy), similarity matrices (.npy), or folders of them.

    \b
    # vectors; then kgtrec evaluate aligned/collection aligned
    kgtrec align gcn.npz --similarity neg-l1 --out aligned
    # scores on smaller test sets too
    kgtrec align gcn.npz --by-size 0.1,0.5,1.0 --repeats 20 --out aligned

    Docs: docs/alignment.md
    """
    if measures and sizes is None:
        raise KgtrecError(
            "expected --by-size together with -m, found only -m; kgtrec evaluate computes any measure from the ranks"
        )
    if sizes is not None and candidates != "test":
        raise KgtrecError(
            "expected --candidates test together with --by-size, found all: candidates that do not depend on the size"
        )
    if measures:
        parse_measures(measures)  # an unknown name is an error before any file is read
    files = (path for system in systems for path in _files(Path(system)))
    paths = by_name((path.resolve().name if path.is_dir() else path.stem, path) for path in files)
    # all files are checked before anything is written
    for name in (*(f"{name}.ranks.parquet" for name in paths), *(_STUDY if sizes is not None else ())):
        require_file(Path(out, name), kind="" if name in _STUDY else RANKS)
    labels = [read_label_lines(path, column=0) if path else None for path in (left_labels, right_labels)]
    if train and not alignments:
        raise KgtrecError("expected --alignments together with --train, found only --train")
    collection: Collection | None = None
    studies: list[AlignmentStudy] = []
    for name, path in paths.items():
        system = read_alignment_system(path)
        with in_file(path):
            for side, of_side, file, size in zip(
                ("left", "right"), labels, (left_labels, right_labels), system.shape, strict=True
            ):
                if of_side is not None and len(of_side) != size:
                    raise FormatError(
                        f"expected a label for each of the {size} {side} entities, found {len(of_side)}", path=file
                    )
            pairs = _alignments(system, alignments, train, *labels)
            own = alignment_collection(pairs, candidates=candidates)
            if collection is None:
                collection = own
                options = {"name": "align", "similarity": similarity, "candidates": candidates}
                inputs = [path, *(Path(file) for file in (alignments, train, left_labels, right_labels) if file)]
                _write_collection(Path(out, "collection"), own, options, inputs)
            elif own.stamp != collection.stamp:
                raise KgtrecError(
                    f"expected the same alignments as in {next(iter(paths.values()))}, found others; "
                    "rank this system in a separate call with another --out"
                )
            with progress_bar(name, len(own.questions), "questions") as advance:
                ranking: dict[str, Any] = {"similarity": similarity, "name": name, "block": block, "progress": advance}
                if sizes is None:
                    ranks = align(system.scores, pairs, candidates=candidates, **ranking)
                else:
                    studies.append(
                        study_alignment(system.scores, pairs, sizes, measures=measures or None, **ranking, **drawing)
                    )
                    ranks = studies[-1].ranks
        written = Path(out, f"{name}.ranks.parquet")
        write_answer_ranks(written, ranks)
        say(f"{name}: wrote {written}")
    if studies:
        summary = pa.concat_tables([study.summary() for study in studies])
        write_text(Path(out, _STUDY[0]), table_csv(pa.concat_tables([study.to_table() for study in studies])))
        write_text(Path(out, _STUDY[1]), table_csv(summary))
        say(f"wrote {' and '.join(str(Path(out, name)) for name in _STUDY)}")
        click.echo(table_text(Table("summary", "", "", summary)), nl=False)


def _alignments(
    system: AlignmentSystem, test: str | None, train: str | None, left: Vocabulary | None, right: Vocabulary | None
) -> Alignments:
    """The alignments of the rows of one system."""
    n_left, n_right = system.shape
    if test is None:
        return Alignments.by_row(n_left, n_right, system.is_test, left=left, right=right)
    where: tuple[Vocabulary | int, Vocabulary | int] = (left or n_left, right or n_right)
    trained = read_pairs(train, *where) if train else ()
    return Alignments.of(read_pairs(test, *where), trained, n_left=n_left, n_right=n_right, left=left, right=right)


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        if (path / LEFT).exists() or (path / RIGHT).exists():
            return [path]
        files = sorted(file for file in path.iterdir() if file.suffix.lower() in (".npz", ".npy"))
        if not files:
            raise FormatError("expected .npz or .npy files in this folder, found none", path)
        return files
    if path.suffix.lower() not in (".npz", ".npy"):
        raise FormatError(
            "expected vectors (.npz, or a folder with left.npy and right.npy) or a similarity matrix (.npy), found "
            + (f"a file that ends in {path.suffix!r}" if path.suffix else "a name without a suffix"),
            path,
        )
    return [path]


def _write_collection(folder: Path, collection: Collection, options: dict[str, Any], inputs: list[Path]) -> None:
    """Write the collection, unless the same one exists already, from another system."""
    about = collection.report["alignment"]
    if not is_replacing() and is_collection(folder):
        if read_collection(folder).stamp == collection.stamp:
            return
        raise FormatError(
            "expected no collection with other alignments or candidates, found one; choose another --out; --force "
            "replaces it",
            path=folder,
        )
    require_writable(folder)
    described = [describe_input(path) for path in inputs if path.is_file()]
    write_collection(folder, collection, command=options, inputs=described)
    say(
        f"wrote {folder}: {len(collection.questions):,} questions, {about['left_candidates']:,} left and "
        f"{about['right_candidates']:,} right candidates"
    )
