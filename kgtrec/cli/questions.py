"""kgtrec questions."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from kgtrec.cli.common import say
from kgtrec.cli.inputs import refuse_second_input
from kgtrec.cli.options import PATH, Real, choices_option, force_option, option, refuse_idle, seed_option, sides_option
from kgtrec.collection.queries import build_queries
from kgtrec.collection.questions import build_questions
from kgtrec.data.triples import POLICIES, POLICIES_LIKE, SPLITS, Triples
from kgtrec.data_sets.get import folder_of
from kgtrec.errors import KgtrecError
from kgtrec.evaluation.plausibility import doubtful_triples
from kgtrec.formats.collections import report_text, require_writable, write_collection
from kgtrec.formats.files import PathLike
from kgtrec.formats.queries import query_files
from kgtrec.formats.triples import (
    FORMATS,
    describe_input,
    find_edge_list,
    find_graphs,
    find_splits,
    input_files,
    read_splits,
    read_triples,
)
from kgtrec.formats.triples.rdf import LITERALS
from kgtrec.report.progress import progress_bar

_OF_TRIPLES = (
    "training", "inference", "sides", "like", "repeated", "leaked", "unseen_entities", "unseen_relations", "sample",
    "seed", "threshold", "categories_from", "candidates",
)  # fmt: skip
_DELIMITERS = {"tab": "\t", "space": " ", "comma": ","}


def _sample(_: click.Context, __: click.Parameter, text: str | None) -> int | float | str | None:
    """A number, a fraction, or the path of a file."""
    if text is None:
        return None
    try:
        return float(text) if set(text) & set(".eE") else int(text)
    except ValueError:
        if text != "-" and not Path(text).is_file():
            raise KgtrecError(
                "--sample: expected a number of triples, a fraction such as 0.1, or a file of test triples, found "
                f"{text!r}"
            ) from None
        return text


@click.command(name="questions")
@click.argument("triples", nargs=-1, metavar="TRAIN [VALID] TEST", type=click.Path())
@option("--out", "Folder to write.", PATH, required=True, metavar="COLLECTION")
@force_option
@option("--train training", "With --inference: graph that the model was trained on.", PATH)
@option("--inference", "Inductive: graph whose entities are the candidates.", PATH)
@option("--columns", "h, r, t: triple; q: qualifier (time); -: skip.", default="hrt")
@option("--delimiter", "tab, space, comma, whitespace, or another character.", default="tab")
@option("--no-header is_bare", "Read the first line as a triple, not as column names.", is_flag=True)
@option("--input-format --format input_form", "Form. Default: by file name.", FORMATS)
@option("--literals", "N-Triples whose object is a literal.", LITERALS, "skip")
@option("--like", "Defaults of the four options below, as in this framework.", tuple(POLICIES_LIKE))
@option("--repeated", "Triples repeated within a split.", POLICIES, "drop")
@option("--leaked", "Test triples that are also in train or valid.", POLICIES, "keep")
@option("--unseen-entities", "Test triples with entities not in train.", POLICIES, "keep")
@option("--unseen-relations", "Test triples with relations not in train.", POLICIES, "keep")
@option(
    "--sample", "Ask for this part of the test triples; filter the others.", metavar="N|SHARE|FILE", callback=_sample
)
@seed_option
@sides_option
@option("--queries", "Complex queries: BetaE's test-queries.pkl, or JSON Lines.", PATH, metavar="FILE")
@option("--candidates", "Candidates of each side of a relation. Default: all entities.", PATH, metavar="train|FILE")
@option("--ids", "Name entities e0, e1, ..., for labels with white space.", is_flag=True)
@option("--threshold", "Mean number of entities that makes a side N.", Real(), 1.5)
@choices_option(
    "--categories-from", choices=SPLITS, about="Splits for relation categories. Default: all.", default=SPLITS
)
@click.pass_context
def command(
    ctx: click.Context,
    /,
    triples: tuple[str, ...],
    training: str | None,
    inference: str | None,
    out: str,
    columns: str,
    delimiter: str,
    is_bare: bool,
    input_form: str | None,
    literals: str,
    like: str | None,
    sample: int | float | str | None,
    queries: str | None,
    **options: Any,
) -> None:
    """Turn TRAIN, VALID and TEST triples (files, their folder, or the name of a public data set) into a collection of
    questions and qrels.

    \b
    # files of head TAB relation TAB tail
    kgtrec questions train.tsv valid.tsv test.tsv --out C
    # a public data set, downloaded if need be
    kgtrec questions fb15k-237 --out C

    Docs: docs/files.md
    """
    refuse_idle(_OF_TRIPLES, "--queries", when=queries is not None)
    options |= {
        name: policy
        for name, policy in POLICIES_LIKE.get(like or "", {}).items()
        if ctx.get_parameter_source(name) is ParameterSource.DEFAULT
    }
    require_writable(out)
    train, graph, valid, test = _files(triples, training, inference)
    reading: dict[str, Any] = {
        "columns": columns,
        "format": input_form,
        "delimiter": _DELIMITERS.get(delimiter, delimiter),
    }
    reading |= {"literals": literals, "header": not is_bare}
    refuse_second_input([train, graph, valid, test, sample, queries])
    read = dict(zip(SPLITS, read_splits(train if graph is None else graph, valid, test, **reading), strict=True))
    if graph is not None:
        read |= {"inference": read["train"], "train": read_triples(train, **reading)}
        options["training_ids"] = like == "pykeen"
    if isinstance(sample, str):
        read["sample"] = read_triples(sample, **reading)
    given = [read[name] for name in SPLITS]
    if queries is None:
        options |= {"inference": read.get("inference"), "sample": read.get("sample", sample)}
        collection = build_questions(*given, **options)
    else:
        collection = build_queries(queries, *given, ids=options["ids"])
    beside = [path for path in (*query_files(queries), options["candidates"]) if path not in (None, "train")]
    write_collection(
        out,
        collection,
        command={"name": "questions", **reading, **collection.report["options"]},
        inputs=_inputs(
            {"train": train, "inference": graph, "valid": valid, "test": test, "sample": sample}, read, input_form
        )
        + [describe_input(path) for path in beside],
    )
    click.echo(report_text(collection.report), nl=False)
    for line in doubtful_triples(collection) if queries is None else ():
        say(f"note: {line}")
    folder = shlex.quote(out)
    say(
        f"wrote {out}: {len(collection.questions):,} questions, fingerprint {collection.fingerprint}\n"
        f"next: kgtrec rank {folder} SCORES --out ranks, or kgtrec rank {folder} --baseline all --out ranks"
    )


def _files(
    paths: tuple[str, ...], training: str | None, inference: str | None
) -> tuple[str, str | None, str | None, str | None]:
    """Train, the inference graph, if any, valid and test, as named or found in folders; or one file of all facts."""
    if (training is None) != (inference is None):
        raise KgtrecError(
            "expected --train TRAIN and --inference GRAPH together, found one of them; name the triples of a "
            "transductive data set without options: TRAIN VALID TEST"
        )
    found: tuple[PathLike | None, ...] = ()
    if training is None or inference is None:
        if len(paths) == 1 and (Path(paths[0]).is_file() or find_edge_list(paths[0])):
            found = find_edge_list(paths[0]) or paths[0], None, None, None
        elif len(paths) == 1 and paths[0] != "-":
            found = find_graphs(folder_of(paths[0], progress=progress_bar))
        elif len(paths) == 2 and all(Path(path).is_dir() for path in paths):
            raise KgtrecError(
                "expected files, or one folder, found two folders; a model of one graph that is asked about another: "
                f"--train {shlex.quote(paths[0])} --inference {shlex.quote(paths[1])}"
            )
        elif len(paths) in (2, 3):
            found = paths[0], None, *(None, *paths[1:])[-2:]
    elif not paths:
        found = find_graphs(training, inference)
    elif len(paths) <= 2:
        graphs = (find_splits(graph)[0] if Path(graph).is_dir() else graph for graph in (training, inference))
        found = *graphs, *(None, *paths)[-2:]
    if not found:
        raise KgtrecError(
            "expected the files TRAIN TEST or TRAIN VALID TEST, their folder, or the name of a data set, found "
            f"{len(paths)}" + "; VALID TEST, or TEST, follow --train and --inference" * bool(inference)
        )
    train, graph, valid, test = (None if path is None else str(path) for path in found)
    return str(train), graph, valid, test


def _inputs(paths: dict[str, Any], read: dict[str, Triples], form: str | None) -> list[dict[str, Any]]:
    """The files of triples with their row counts, then the dictionaries that they share."""
    files = {name: path for name, path in paths.items() if isinstance(path, str)}
    inputs = [describe_input(path, split=name, triples=len(read[name])) for name, path in files.items()]
    dictionaries = dict.fromkeys(beside for path in files.values() for beside in input_files(path, form)[1:])
    return inputs + [describe_input(path) for path in dictionaries]
