"""The folder that ``kgtrec questions`` writes: a collection, one file per part.

====================  ============================================================================================
``topics.tsv``        ``id TAB anchor TAB relation``, head questions first; ``TAB qualifier``, such as a time, if any
``qrels.txt``         ``question 0 entity grade``
``entities.txt``      one label per line, row = code; or ``entities.tsv``, ``id TAB label``, if entities have ids
``relations.tsv``     ``relation, category, tails_per_head, heads_per_tail`` with a header, row = code
``known.parquet``     ``question, entity`` (rows), ``split`` (0 train, 1 valid, 2 left-out test)
``train.parquet``     ``head, relation, tail`` (rows, int32): what a system may learn from
``training.parquet``  of an inductive collection: the same of the graph that a model was trained on, where train is the
                      graph of the candidates; relations of the collection, entities of ``training_entities.txt``
``links.parquet``     of complex queries: ``question, entity`` (rows), ``missing`` links of the easiest explanation
``valid.parquet``     what train.parquet has, for valid, and ``test.parquet`` for test, where relations have qualifiers,
                      such as times
``candidates.parquet``  unless all entities are: ``place`` (2 * the plain relation's row, + 1 for heads), ``entity``
``manifest.json``     version, command, inputs, counts, the SHA-256 of every other file, fingerprint, numbering
``report.txt``        the counts, for people
====================  ============================================================================================

Equal collections give equal bytes: no time, no absolute path. ``qrels.txt`` may be replaced by one with other
judgements (after pooling, for example): reading then warns. A changed copy of any other file is an error.

The folder that a campaign produces is a published test collection:

=======================  =========================================================================================
``topics.tsv``           ``id TAB anchor TAB relation``
``qrels.txt``            ``question 0 entity grade``: all judgements
``qrels.depth0.txt``     the same with only the answers known before the pool was made, ``qrels.depth1.txt`` with
...                      the triples of pool depth 1 too, and so on down to the deepest
``report.txt``           where the judgements came from, for people; ``report.json`` for programs
``README.md``            how it was made, in words
``SHA256SUMS``           for ``sha256sum -c``
=======================  =========================================================================================

With a collection it has the other files of a collection too, under the same names.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from glob import escape
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.arrow import values_of
from kgtrec.data.collection import (
    CATEGORIES,
    STAMP,
    Candidates,
    Collection,
    FilteredAnswers,
    MissingLinks,
    RelationCategories,
    has_validation,
)
from kgtrec.data.qrels import Qrels
from kgtrec.data.questions import Questions, Topics
from kgtrec.data.triples import SPLITS, Triples
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError, KgtrecError, in_file, warn
from kgtrec.formats.files import PathLike, kgtrec_version, sha256_of
from kgtrec.formats.json_text import read_json, read_manifest
from kgtrec.formats.lines import Lines
from kgtrec.formats.output.folders import (
    ENTITY_IDS,
    ENTITY_LABELS,
    MANIFEST,
    REPORT,
    SUMS,
    files_listed,
    write_git_files,
)
from kgtrec.formats.output.outputs import require_folder, write_text, writing, writing_folder
from kgtrec.formats.parquet import read_whole_table
from kgtrec.formats.trec.qrels import FROM_CAMPAIGN, read_qrels, write_qrels
from kgtrec.formats.trec.topics import read_entity_labels, read_label_lines, read_topics, write_topics
from kgtrec.formats.tsv import lines_of
from kgtrec.formats.versions import FORMATS, require_version

_MISSING_LINKS, _CANDIDATES = "links.parquet", "candidates.parquet"
#: files that only a collection has
OWN_FILES = (MANIFEST, "relations.tsv", "known.parquet", "train.parquet", _MISSING_LINKS, _CANDIDATES)
_TRAINING, _TRAINING_ENTITIES = _OF_TRAINING = ("training.parquet", "training_entities.txt")
_ALWAYS = ("topics.tsv", "qrels.txt", "relations.tsv", "known.parquet", "train.parquet", "report.txt")
_HELD = ("valid.parquet", "test.parquet")
_FILTERED = pa.schema([("question", pa.int32()), ("entity", pa.int32()), ("split", pa.int8())])
_TRAIN = pa.schema([("head", pa.int32()), ("relation", pa.int32()), ("tail", pa.int32())])
_PLACES = pa.schema([("place", pa.int64()), ("entity", pa.int32())])
_LINKS = pa.schema([("question", pa.int32()), ("entity", pa.int32()), ("missing", pa.int8())])
_RELATION_COLUMNS = ("relation", "category", "tails_per_head", "heads_per_tail")
_NO_CATEGORY = "-"


def write_collection(
    folder: PathLike,
    collection: Collection,
    *,
    force: bool = False,
    command: Mapping[str, Any] | None = None,
    inputs: Sequence[Mapping[str, Any]] | None = None,
) -> None:
    """Write a collection's folder, all of it or nothing.

    Parameters
    ----------
    folder : path
        Created with its parents if absent. An existing collection is replaced only with ``force``; other files in its
        folder stay.
    collection : Collection
        What to write.
    force : bool
        Replace a collection that is there already. Default: refuse.
    command : mapping, optional
        The command and its options, for the manifest.
    inputs : sequence of mappings, optional
        The files read, for the manifest, see :func:`kgtrec.formats.triples.describe_input`.

    Raises
    ------
    FormatError
        If the folder is a file, has other files, or has a collection and ``force`` is False.

    Examples
    --------
    >>> import tempfile
    >>> from kgtrec.collection.questions import build_questions
    >>> train, valid = Triples.of([("ann", "likes", "tea"), ("bob", "likes", "jam")]), Triples.of([])
    >>> collection = build_questions(train, valid, Triples.of([("ann", "likes", "jam")]))
    >>> folder = Path(tempfile.mkdtemp(), "C")
    >>> write_collection(folder, collection)
    >>> read_collection(folder).fingerprint == collection.fingerprint
    True
    """
    with writing_folder(folder, MANIFEST, owned=_files_of, force=force) as part:
        write_collection_parts(part, collection, command=command, inputs=inputs)
        write_git_files(part, folder)


def write_collection_parts(
    folder: Path,
    collection: Collection,
    *,
    command: Mapping[str, Any] | None = None,
    inputs: Sequence[Mapping[str, Any]] | None = None,
    report: str = "",
    marked: tuple[str, Qrels] | None = None,
) -> None:
    """Write the files of a collection into a new, empty folder; ``report``: its text, if it is another.

    For ``marked`` see :func:`kgtrec.formats.trec.qrels.write_qrels`.
    """
    questions, filtered, train = collection.questions, collection.filtered, collection.train
    write_topics(folder / "topics.tsv", Topics.of(questions))
    write_qrels(folder / "qrels.txt", collection.qrels, marked=marked)
    columns = [labels.labels for labels in (collection.entities, collection.labels) if labels is not None]
    with writing(folder / (ENTITY_LABELS if collection.labels is None else ENTITY_IDS)) as stream:
        stream.write(lines_of(*columns, between="\t"))
    _write_relations(folder / "relations.tsv", collection)
    _write_codes(folder / "known.parquet", _FILTERED, filtered.question, filtered.entity, filtered.split)
    for name, triples in zip(("train.parquet", *_HELD), (train, *(collection.held or ())), strict=False):
        _write_codes(folder / name, _TRAIN, triples.head, triples.relation, triples.tail)
    if (training := collection.training) is not None:
        _write_codes(folder / _TRAINING, _TRAIN, training.head, training.relation, training.tail)
        with writing(folder / _TRAINING_ENTITIES) as stream:
            stream.write(lines_of(training.entities.labels, between="\t"))
    if (links := collection.missing_links) is not None:
        _write_codes(folder / _MISSING_LINKS, _LINKS, links.question, links.entity, links.count)
    if (candidates := collection.candidates) is not None:
        _write_codes(folder / _CANDIDATES, _PLACES, candidates.place, candidates.entity)
    write_text(folder / REPORT, report or report_text(collection.report))
    manifest = {
        "collection_format": FORMATS["a collection"][-1],
        "kgtrec": kgtrec_version(),
        "command": dict(command or {}),
        "inputs": [dict(item) for item in inputs or ()],
        "fingerprint": collection.fingerprint,
        "numbering": collection.numbering,
        "report": collection.report,
        "files": {path.name: sha256_of(path) for path in sorted(folder.iterdir())},
    }
    write_text(folder / MANIFEST, json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")


def read_collection(folder: PathLike) -> Collection:
    """Read a collection's folder and check that its parts belong together.

    Parameters
    ----------
    folder : path
        What :func:`write_collection` wrote.

    Raises
    ------
    FormatError
        If the folder is not a collection, or a file is missing, damaged or changed.

    Warns
    -----
    KgtrecWarning
        If ``qrels.txt`` was replaced; its pairs of a grade above 0 are the answers now.
    """
    path = Path(folder)
    manifest = _read_manifest(path)
    for error in _wrong_files(path, manifest):
        raise error
    # all files but the qrels are those that were written, so they are not checked any further
    has_ids = ENTITY_IDS in manifest["files"]
    entities = read_entity_labels(path / (ENTITY_IDS if has_ids else ENTITY_LABELS))
    labels = read_label_lines(path / ENTITY_IDS, column=1) if has_ids else None
    relations, categories = _read_relations(path / "relations.tsv")
    questions = read_topics(path / "topics.tsv").questions().recoded(entities=entities, relations=relations)
    qrels = _read_qrels(path / "qrels.txt", questions)
    filtered = FilteredAnswers(*_read_codes(path / "known.parquet"))
    train = _read_triples(path / "train.parquet", entities, relations)
    training = held = links = candidates = None
    if _TRAINING in manifest["files"]:
        training = _read_triples(path / _TRAINING, read_label_lines(path / _TRAINING_ENTITIES), relations)
    if manifest["files"].keys() >= {*_HELD}:
        held = _read_triples(path / _HELD[0], entities, relations), _read_triples(path / _HELD[1], entities, relations)
    if _MISSING_LINKS in manifest["files"]:
        links = MissingLinks(*_read_codes(path / _MISSING_LINKS))
    if _CANDIDATES in manifest["files"]:
        candidates = Candidates(*_read_codes(path / _CANDIDATES))
    elif manifest.get("report", {}).get("candidates"):
        way_out = "build it again with kgtrec questions"
        raise FormatError(f"expected {_CANDIDATES} among its files, found none; {way_out}", path / MANIFEST)
    own = manifest.get("report", {}), labels, manifest["fingerprint"], training, links, held, candidates
    collection = Collection(questions, qrels, filtered, categories, train, *own)
    if sha256_of(path / "qrels.txt") != manifest["files"]["qrels.txt"]:
        warn(f"{path / 'qrels.txt'}: not the file that kgtrec questions wrote; using its {len(qrels):,} judgements")
    if collection.numbering != manifest["numbering"]:
        raise FormatError(
            f"expected questions with the numbering {manifest['numbering']}, found {collection.numbering}; "
            "build it again with kgtrec questions",
            path,
        )
    return collection


def is_collection(folder: PathLike) -> bool:
    """Return whether a folder has the manifest of a collection."""
    try:
        manifest = read_json(Path(folder) / MANIFEST)
    except (OSError, FormatError):
        return False
    return isinstance(manifest, dict) and "collection_format" in manifest


def require_writable(folder: PathLike, *, force: bool = False) -> None:
    """Raise FormatError if :func:`write_collection` would refuse to write to a folder."""
    require_folder(folder, _files_of, force=force)


def _files_of(folder: Path) -> list[str]:
    """The files of the collection in a folder; none if it is one that a campaign produced, with more files."""
    return [] if (folder / SUMS).exists() else files_listed(folder, MANIFEST, "collection_format")


def require_qrels_writable(folder: PathLike, *, force: bool = False) -> None:
    """Raise FormatError if :func:`write_qrels_folder` would refuse to write to a folder."""
    require_folder(folder, _files_of_qrels, force=force)


def _files_of_qrels(folder: Path) -> list[str]:
    """The files of earlier qrels in a folder, as their sums list them."""
    with suppress(OSError, UnicodeDecodeError):
        names = [line.partition("  ")[2] for line in (folder / SUMS).read_text("utf-8").splitlines()]
        return [SUMS, *map(escape, names)] if FROM_CAMPAIGN in names else []
    return []


def write_qrels_folder(
    folder: PathLike,
    questions: Questions,
    by_depth: Sequence[Qrels],
    *,
    readme: str,
    report_text: str,
    report: Mapping[str, Any],
    collection: Collection | None = None,
    command: Mapping[str, Any] | None = None,
    marked: tuple[str, Qrels] | None = None,
    force: bool = False,
) -> None:
    """Write the folder, all of it or nothing.

    Parameters
    ----------
    folder : path
        Created with its parents if absent. Earlier qrels of this kind are replaced only with ``force``; other files in
        the folder stay.
    questions : Questions
    by_depth : sequence of Qrels
        At depth 0, 1, ...; the last one is also ``qrels.txt``. A depth without judgements has an empty file.
    readme, report_text : str
    report : mapping
        The report as plain numbers.
    collection : Collection, optional
        With these questions and the last qrels.
    command
        For the collection's manifest, see :func:`kgtrec.write_collection`.
    marked : tuple of str and Qrels, optional
        For the files of qrels, see :func:`kgtrec.formats.trec.qrels.write_qrels`.
    force : bool

    Raises
    ------
    FormatError
        If the folder is a file, has other files, or has earlier qrels and ``force`` is False.
    KgtrecError
        If a label cannot be written in a TREC file, or there are no judgements.
    """
    with writing_folder(folder, SUMS, MANIFEST, owned=_files_of_qrels, force=force) as part:
        if collection is not None:
            write_collection_parts(part, collection, command=command, report=report_text, marked=marked)
        else:
            write_topics(part / "topics.tsv", Topics.of(questions))
            write_qrels(part / "qrels.txt", by_depth[-1], marked=marked)
            write_text(part / REPORT, report_text)
        for depth, qrels in enumerate(by_depth):
            name = part / f"qrels.depth{depth}.txt"
            if len(qrels):
                write_qrels(name, qrels, marked=marked)
            else:
                write_text(name, "")
        versioned = {"qrels_format": FORMATS["qrels of a campaign"][-1], **report}
        write_text(part / FROM_CAMPAIGN, json.dumps(versioned, indent=2, ensure_ascii=False) + "\n")
        write_text(part / "README.md", readme)
        write_text(part / SUMS, "".join(f"{sha256_of(path)}  {path.name}\n" for path in sorted(part.iterdir())))
        write_git_files(part, folder)


def _write_relations(path: Path, collection: Collection) -> None:
    categories = collection.categories
    names = [CATEGORIES[code] if code >= 0 else _NO_CATEGORY for code in categories.category]
    rows = zip(
        collection.relations, names, categories.tails_per_head.tolist(), categories.heads_per_tail.tolist(), strict=True
    )
    write_text(path, "".join("\t".join(map(str, row)) + "\n" for row in (_RELATION_COLUMNS, *rows)))


def _write_codes(path: Path, schema: pa.Schema, *columns: NDArray[Any]) -> None:
    import pyarrow.parquet as pq

    arrays = [pa.array(column, kind) for column, kind in zip(columns, schema.types, strict=True)]
    with writing(path) as stream:
        pq.write_table(pa.Table.from_arrays(arrays, schema=schema), stream, compression="zstd")


def _read_manifest(path: Path) -> dict[str, Any]:
    again = "build the collection again with kgtrec questions"
    qrels = path / "qrels.txt"
    way_out = f"its qrels are {qrels}" if qrels.is_file() else "make one with kgtrec questions"
    manifest = read_manifest(path, MANIFEST, "a collection", way_out, again=again)
    needed = {"collection_format", "fingerprint", "files"}
    if "collection_format" in manifest:
        way_out = "make it again with kgtrec questions --force"
        require_version(manifest["collection_format"], "a collection", path / MANIFEST, way_out)
    with in_file(path / MANIFEST):
        are_tables = isinstance(manifest.get("files"), dict) and isinstance(manifest.get("report", {}), dict)
        if not needed <= manifest.keys() or not are_tables:
            raise KgtrecError(
                f"expected the manifest of a collection with {', '.join(sorted(needed))}, found another file"
            )
        stamp = f"{manifest['fingerprint']}_{manifest.get('numbering')}"
        if not STAMP.fullmatch(stamp):
            raise KgtrecError(
                f"expected a fingerprint of 16 hex digits and a numbering of 8, found {stamp[:40]}; make the "
                "collection again with kgtrec questions"
            )
    return manifest


def damaged_parts(folder: PathLike) -> list[FormatError]:
    """Return the files of a collection's folder that are missing or changed, and what to do about each.

    Contradictions between files, such as qrels of other questions, are found by :func:`read_collection`.
    """
    try:
        manifest = _read_manifest(Path(folder))
    except FormatError as error:
        return [error]
    return list(_wrong_files(Path(folder), manifest))


def _wrong_files(path: Path, manifest: dict[str, Any]) -> Iterator[FormatError]:
    files = manifest["files"]
    further = [name for name in (*_OF_TRAINING, *_HELD, _MISSING_LINKS, _CANDIDATES) if name in files]
    for name in (*_ALWAYS, ENTITY_IDS if ENTITY_IDS in files else ENTITY_LABELS, *further):
        if name != "report.txt" and not (path / name).is_file():
            yield FormatError("expected this file of the collection, found none; build it again", path=path / name)
        elif name not in files:
            yield FormatError(
                f"expected a checksum of {name}, found none; build the collection again", path=path / MANIFEST
            )
        elif name not in ("qrels.txt", "report.txt") and sha256_of(path / name) != files[name]:
            yield FormatError(
                "expected the file that kgtrec questions wrote, found another one; only qrels.txt may be replaced; "
                "build the collection again",
                path=path / name,
            )


def _read_relations(path: Path) -> tuple[Vocabulary, RelationCategories]:
    lines = Lines.read(path).below_header(_RELATION_COLUMNS)
    rows = [line.fields(_RELATION_COLUMNS) for line in lines.rows]
    codes = {name: code for code, name in enumerate(CATEGORIES)} | {_NO_CATEGORY: -1}
    try:
        category = np.array([codes[row[1]] for row in rows], np.int8)
        tails, heads = (np.array([float(row[at]) for row in rows]) for at in (2, 3))
    except (KeyError, ValueError) as error:
        raise FormatError(f"expected a category and two numbers for each relation, found {error}", path) from None
    return Vocabulary.of([row[0] for row in rows]), RelationCategories(category, tails, heads)


def _read_triples(path: Path, entities: Vocabulary, relations: Vocabulary) -> Triples:
    head, relation, tail = _read_codes(path)
    return Triples(head, relation, tail, entities, relations)


def _read_codes(path: Path) -> list[NDArray[Any]]:
    return [values_of(column) for column in read_whole_table(path).columns]


def _read_qrels(path: Path, questions: Questions) -> Qrels:
    qrels = read_qrels(path)
    own = qrels.recoded(questions=questions.ids, entities=questions.entities)
    for codes, labels, what in (
        (own.question, qrels.decoded("question"), "questions of topics.tsv"),
        (own.entity, qrels.decoded("entity"), "entities of the collection"),
    ):
        if (codes < 0).any():
            raise FormatError(f"expected {what}, found {labels[int(np.argmin(codes))].as_py()!r}", path)
    return Qrels.of(own.question, own.entity, own.grade, own.questions, own.entities)


_BAR = 40  # characters of the longest bar
_SIDES = ("head", "tail", "all")


def report_text(report: Mapping[str, Any]) -> str:
    """Return the report of :func:`kgtrec.build_questions`, as aligned lines that end in a newline.

    Parameters
    ----------
    report : mapping
        ``Collection.report``; an empty one (of a collection made by hand) gives one line that says so.

    Returns
    -------
    str
    """
    if not report:
        return "no report: this collection was not made by kgtrec questions\n"
    if "structures" in report:
        return "".join(f"{line.rstrip()}\n" for line in _structures(report))
    checks = _alignment(report) if "alignment" in report else _checks(report)
    blocks = (_triples(report), _questions(report), _histogram(report), _categories(report), checks)
    return "\n".join("".join(f"{line.rstrip()}\n" for line in block) for block in blocks)


def _triples(report: Mapping[str, Any]) -> Iterator[str]:
    counts = {"triples read": "triples_read", "triples used": "triples", "filtered answers": "known"}
    rows = [[label, *(_number(report[key][name]) for name in SPLITS)] for label, key in counts.items()]
    yield from _aligned([["", *SPLITS], *rows])
    times = f", times {report['times']:,}" if "times" in report else ""
    yield f"entities {report['entities']:,}, relations {report['relations']:,}{times}"
    if ranges := report.get("time_range"):
        yield "times " + ", ".join(f"of {name} {' to '.join(dict.fromkeys(ends))}" for name, ends in ranges.items())
    if own := report.get("candidates"):
        yield f"candidates of a question by {report['options']['candidates']}: {own['mean']:,.1f} in the mean"
        yield f"answers that are candidates only as answers: {own['answers_only']:,} of {report['answers']:,}"
    if not has_validation(report):
        yield "no validation split"
    if (training := report.get("training")) is not None:
        count = {name: f"{value:,}" for name, value in training.items()}
        yield "inductive: train is the graph of the candidates, and a model is trained on another"
        yield (
            f"training graph: triples {count['triples']}, entities {count['entities']}, {count['entities_in_both']} of "
            f"them candidates, relations {count['relations']}, {count['relations_in_both']} of them here"
        )
        yield (
            f"of other relations than it: {count['inference_triples_of_other_relations']} train triples; test triples "
            f"with its entities: {count['test_triples_with_its_entities']}, in it: {count['test_triples_in_it']}"
        )


def _questions(report: Mapping[str, Any]) -> Iterator[str]:
    rows = [["", *_SIDES], ["questions", *(_number(report["questions"][side]) for side in _SIDES)]]
    rows += [
        [f"answers, {name}", *(_number(report["answers_per_question"][side][name]) for side in _SIDES)]
        for name in ("min", "median", "mean", "max")
    ]
    yield from _aligned(rows)


def _histogram(report: Mapping[str, Any]) -> Iterator[str]:
    bins = report["histogram"]
    most = max(item["questions"] for item in bins)
    rows = [["answers", "questions", ""]]
    for item in bins:
        span = str(item["to"]) if item["from"] == item["to"] else f"{item['from']}-{item['to']}"
        # every bin that is not empty is visible
        rows.append([span, _number(item["questions"]), "#" * -(-_BAR * item["questions"] // most)])
    yield from _aligned(rows, left=(2,))


def _categories(report: Mapping[str, Any]) -> Iterator[str]:
    counts_of = {name: counts for name, counts in report["categories"].items() if name != "none" or counts["relations"]}
    triples = max(1, sum(counts["test_triples"] for counts in counts_of.values()))
    rows = [["category", "relations", "test triples", "share"]]
    for name, counts in counts_of.items():
        own = counts["test_triples"]
        rows.append([name, _number(counts["relations"]), _number(own), f"{own / triples:.1%}"])
    yield from _aligned(rows)
    options = report["options"]
    used = [split for split in options["categories_from"] if report["triples_read"][split]]
    yield f"a side is N from a mean of {options['threshold']:g} entities, over {' + '.join(used)}"


def _structures(report: Mapping[str, Any]) -> Iterator[str]:
    """What is reported of complex queries."""
    counts = report["structures"]
    links = sorted({number for own in counts.values() for number in own["missing_links"]})
    heads = [f"{number} missing link{'s' * (number != '1')}" for number in links]
    rows = [["structure", "queries", "hard answers", *heads, "easy answers"]]
    for name, own in counts.items():
        missing = (own["missing_links"].get(number, 0) for number in links)
        rows.append([name, *map(_number, (own["queries"], own["hard"], *missing, own["easy"]))])
    yield from _aligned(rows)
    yield f"entities {report['entities']:,}, relations {report['relations']:,}"
    yield "triples: " + ", ".join(f"{name} {report['triples'][name]:,}" for name in SPLITS)
    if report["dropped"]:
        yield f"queries without hard answers, left out: {report['dropped']:,}"


def _alignment(report: Mapping[str, Any]) -> Iterator[str]:
    """What is reported instead of the checks in a collection of ``kgtrec align``."""
    about = report["alignment"]
    whom = "entities of the test alignments" if about["candidates"] == "test" else "all entities of a side"
    yield f"entity alignment; candidates are {whom}:"
    yield f"{about['right_candidates']:,} right ones for tail questions (from left to right),"
    yield f"{about['left_candidates']:,} left ones for head questions (from right to left)"
    yield f"repeated test alignments: {report['repeated']['test']:,}, counted once"
    used, read = report["triples"]["train"], about["train_alignments"]
    yield f"train alignments: {read:,}, {used:,} of them between candidates, where they are no wrong answers"


def _checks(report: Mapping[str, Any]) -> Iterator[str]:
    repeated, leaked = report["repeated"], report["leaked"]
    rows = [["check", "found", "policy"]]
    found = ", ".join(f"{repeated[name]:,} {name}" for name in SPLITS)
    rows.append(["repeated triples", found, f"--repeated {repeated['policy']}"])
    found = f"{leaked['test_in_train']:,} in train, {leaked['test_in_valid']:,} in valid"
    rows.append(["test triples leaked", found, f"--leaked {leaked['policy']}"])
    training = report.get("training")
    for kind in ("entities", "relations"):
        counts = report[f"unseen_{kind}"]
        found = f"{counts[kind]:,}, in {counts['valid_triples']:,} valid and {counts['test_triples']:,} test triples"
        graph = "train" if training is None else {"entities": "the graph", "relations": "training"}[kind]
        rows.append([f"{kind} not in {graph}", found, f"--unseen-{kind} {counts['policy']}"])
    yield from _aligned(rows, left=(1, 2))
    if sample := report["sample"]:
        drawn = "given" if sample["seed"] is None else f"seed {sample['seed']}"
        yield (
            f"sample of {sample['triples']:,} of {sample['of']:,} test triples ({drawn}), "
            f"{sample['relations']} of their {sample['relations_of']} relations"
        )
        yield f"KL(sample || full) of the relations: {sample['kl_nats']:.4f} nats, no smoothing"


def _aligned(rows: Sequence[Sequence[str]], left: tuple[int, ...] = ()) -> Iterator[str]:
    """Columns two blanks apart; the first and those in ``left`` to the left, the others to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = (
            cell.ljust(width) if i == 0 or i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells)


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"
