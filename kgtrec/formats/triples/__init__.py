"""Triples of a knowledge graph, from the formats that link-prediction data sets come in."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kgtrec.data.triples import Splits, Triples, refuse_qualified
from kgtrec.errors import FormatError, KgtrecError, in_file, one_of, warn
from kgtrec.formats.files import PathLike, name_as_text, reading, sha256_of, suffixes
from kgtrec.formats.lines import WHITESPACE, Lines, read_fields
from kgtrec.formats.output.outputs import writing
from kgtrec.formats.triples.ids import LIBKGE_DICTIONARIES, OPENKE_DICTIONARIES, beside, read_libkge, read_openke
from kgtrec.formats.triples.ogb import mapping_files, read_ogb, read_wikikg90m, tails_beside
from kgtrec.formats.triples.rdf import LITERALS, read_ntriples
from kgtrec.formats.triples.times import EDGE_LIST, dictionaries_beside, layout_of, read_timed, shares_of
from kgtrec.formats.tsv import require_writable_labels, triple_labels, write_tsv

FORMATS = ("tsv", "openke", "libkge", "nt", "ogb")
SPLIT_FILES = {"train": ("train",), "valid": ("valid", "dev", "validation", "val"), "test": ("test",)}
_TEXT_SUFFIXES = (".tsv", ".txt", ".csv", ".nt", "")
_COMPRESSIONS = ("", ".gz", ".zst")
_ENDINGS = tuple(
    [f"{ending}{compression}" for ending in kind for compression in _COMPRESSIONS]
    for kind in (("2id.txt",), (".del",), _TEXT_SUFFIXES)
)
#: of a folder that has the graph of new entities too: ILPC 2022, InGram
_INDUCTIVE_FILES: tuple[dict[str, tuple[str, ...]], ...] = (
    {"train": ("train",), "inference": ("inference",), "valid": ("inference_validation",), "test": ("inference_test",)},
    SPLIT_FILES | {"inference": ("msg",)},
)
_NAMES = {"h": "head", "r": "relation", "t": "tail"}
_MORE = {"q": "qualifier", "-": "not read"}
_HEADINGS = {
    letter: re.compile(rf'#?"?({words})([ _-]?(id|name|label|entity|type))?"?', re.IGNORECASE)
    for letter, words in {"h": "head|subject|source", "r": "relation|predicate|type", "t": "tail|object|target"}.items()
}
_LETTERS = (("h", "r", "t"), ("s", "p", "o"))  # headings too, if all three are of one kind


def read_triples(
    path: PathLike,
    *,
    columns: str = "hrt",
    format: str | None = None,  # noqa: A002  # the name in every reader of several formats
    delimiter: str = "\t",
    literals: str = "skip",
    header: bool = True,
    may_be_empty: bool = False,
) -> Triples:
    r"""Read the triples in one file, in file order.

    Labels are opaque: ``NA``, ``007`` and ``he"said`` are labels like any other, and there are no comments. Blank
    lines are skipped, and so is a first line of column names. ``.gz`` and ``.zst`` files are decompressed; ``-`` is
    standard input.

    Parameters
    ----------
    path : path
        The file, ``.gz`` or ``.zst`` or neither; ``-`` is standard input.
    columns : str
        The columns of a text file: h, r and t (head, relation, tail) once each, in any order; q for a qualifier of the
        fact, such as its time; - for a column that is not read. By default facts with a time are recognised, see
        :mod:`kgtrec.formats.triples.times`.
    format : {"tsv", "openke", "libkge", "nt", "ogb"}, optional
        By default by name: ``train2id.txt`` is OpenKE's (numbers, with ``entity2id.txt`` and
        ``relation2id.txt`` beside it), ``train.del`` LibKGE's (with ``entity_ids.del`` and ``relation_ids.del``),
        ``.nt`` N-Triples, ``split/*/train.pt`` that of the Open Graph Benchmark (with labels in ``mapping``),
        ``train_hrt.npy`` and ``val_hr.npy`` those of its WikiKG90Mv2, anything else text with three columns.
    delimiter : str
        Separator of the columns of a text file: one character, or "whitespace" for any run of it.
    literals : {"skip", "keep"}
        What to do with N-Triples whose object is a literal.
    header : bool
        Whether a first line such as ``head relation tail``, ``subject predicate object``, ``source type target`` or
        ``h r t``, in the order of ``columns``, names the columns of a text file. False: it is a triple.
    may_be_empty : bool
        Whether a file without triples is allowed, as for a data set without validation triples.

    Returns
    -------
    Triples
        Entities in order of first appearance, head before tail; those of OpenKE, LibKGE and OGB as their dictionaries
        number them, also where no triple has them.

    Raises
    ------
    FormatError
        For the first malformed line, a number out of range, an empty or damaged file.
    KgtrecError
        If an option is invalid.

    Warns
    -----
    KgtrecWarning
        If literals or a line of column names were skipped.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "train.tsv"
    >>> _ = path.write_text("ann\tlikes\tice cream\n")
    >>> triples = read_triples(path)
    >>> len(triples), list(triples.entities)
    (1, ['ann', 'ice cream'])
    """
    kind = _require_options(path, columns, format, delimiter, literals, header)
    if kind == "openke":
        triples = read_openke(path)
    elif kind == "libkge":
        triples = read_libkge(path)
    elif kind == "nt":
        triples = read_ntriples(path, literals=literals)
    elif kind == "ogb":
        triples = read_wikikg90m(path) if suffixes(path)[0] == ".npy" else read_ogb(path)
    else:
        lines = Lines.read(path)
        if (columns, delimiter) == ("hrt", "\t") and (layout := layout_of(lines)):
            return read_timed(path, layout)
        with in_file(path):
            triples = _read_text(lines, columns, delimiter, header=header, may_be_empty=may_be_empty)
    if len(triples) == 0 and not may_be_empty:
        raise FormatError("expected at least one triple, found none", path)
    if "q" not in columns:
        with in_file(path):
            refuse_qualified(triples.relations.labels)
    return triples


def read_splits(
    train: PathLike, valid: PathLike | None, test: PathLike | None, **options: Any
) -> tuple[Triples, Triples, Triples]:
    r"""Read the triples of the three splits; valid may have none, or no file.

    Parameters
    ----------
    train, valid, test : path
        Without test, train holds all facts, which are split by their times, as by :meth:`Splits.by_time`.
    **options
        As for :func:`read_triples`.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "train.tsv"
    >>> _ = path.write_text("ann\tlikes\ttea\n")
    >>> [len(triples) for triples in read_splits(path, None, path)]
    [1, 0, 1]
    """
    if test is None:
        with in_file(train):
            splits = Splits.by_time(read_triples(train, **options), shares_of(train))
        return splits.train, splits.valid, splits.test
    return (
        read_triples(train, **options),
        Triples.of([]) if valid is None else read_triples(valid, may_be_empty=True, **options),
        read_triples(test, **options),
    )


def write_triples(path: PathLike, triples: Triples, *, force: bool = False) -> None:
    r"""Write triples as ``head TAB relation TAB tail`` lines, compressed by suffix, atomically.

    Parameters
    ----------
    path : path
        The file to write; ``.gz`` and ``.zst`` are compressed, ``-`` is standard output.
    triples : Triples
        What to write, in this order.
    force : bool
        Replace a file that exists already. Default: refuse.

    Raises
    ------
    KgtrecError
        If a label is empty or contains a tab or a line break, so that it would not read back.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "train.tsv"
    >>> write_triples(path, Triples.of([("ann", "likes", "ice cream")]))
    >>> path.read_text()
    'ann\tlikes\tice cream\n'
    """
    for vocabulary, what in ((triples.entities, "entity"), (triples.relations, "relation")):
        require_writable_labels(path, vocabulary.labels, what, "replace them before writing", refused=r"[\t\n\r]|^$")
    with writing(path, force=force) as stream:
        write_tsv(stream, len(triples), lambda rows: triple_labels(triples, rows))


def find_edge_list(folder: PathLike) -> Path | None:
    """Find TGB's file of all facts in a folder, which has no splits; None if there is none, or several."""
    found = [path for path in Path(folder).glob(f"*{EDGE_LIST}") if not path.name.endswith(f"_static{EDGE_LIST}")]
    return found[0] if len(found) == 1 else None


def find_splits(folder: PathLike) -> tuple[Path, Path | None, Path]:
    """Find the train, valid and test files of a data set's folder, in any format; valid is None if it has none.

    Raises
    ------
    FormatError
        If train or test has no file, a split has several, or valid only one in another format.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for name in ("train2id.txt", "valid2id.txt", "test2id.txt", "test.txt"):
    ...     (folder / name).touch()
    >>> [path.name for path in find_splits(folder)]
    ['train2id.txt', 'valid2id.txt', 'test2id.txt']
    """
    path = Path(folder)
    if not path.is_dir():
        raise FormatError("expected a folder of train, valid and test triples, or their files", path)
    if (path / "train_hrt.npy").is_file():
        raise FormatError(
            "expected three files of triples, found OGB's WikiKG90Mv2, whose test answers are not public; name three "
            "files, such as train_hrt.npy val_hr.npy val_hr.npy",
            path,
        )
    if (two := _inductive_files(path)) is not None:
        raise FormatError(
            f"expected one graph, found an inductive data set with {two['inference'][0]} triples beside train; make a "
            "collection of it with kgtrec questions (kgtrec.build_questions), and give that",
            path,
        )
    # numbers first: such folders often contain the same triples as text too
    for kind in _ENDINGS[:2]:
        if any((path / f"train{ending}").is_file() for ending in kind):
            return _splits_of(_one_of_each(path, kind))
    for found in sorted(path.glob("split/*/train.pt")):
        return found, found.with_name("valid.pt"), found.with_name("test.pt")
    return _splits_of(_one_of_each(path, _ENDINGS[2]))


def find_graphs(folder: PathLike, inference: PathLike | None = None) -> tuple[Path, Path | None, Path | None, Path]:
    """Find the files of train, the inference graph, valid and test; transductive data sets have no inference graph.

    An inductive data set is a folder of ILPC 2022 (``inference.txt``, ``inference_validation.txt`` and
    ``inference_test.txt`` beside ``train.txt``) or of InGram (``msg.txt``), or two folders, GraIL's ``NAME`` and
    ``NAME_ind``: a model is trained on train of the first, and asked for valid and test of the second, beside its
    train.

    Raises
    ------
    FormatError
        As :func:`find_splits`.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for name in ("train.txt", "msg.txt", "valid.txt", "test.txt"):
    ...     (folder / name).touch()
    >>> [path.name for path in find_graphs(folder)]
    ['train.txt', 'msg.txt', 'valid.txt', 'test.txt']
    """
    path = Path(folder)
    if inference is not None:
        return find_splits(path)[0] if path.is_dir() else path, *find_splits(inference)
    if (stems := _inductive_files(path)) is not None:
        found = _one_of_each(path, _ENDINGS[2], stems)
        return found["train"], found["inference"], found.get("valid"), found["test"]
    train, valid, test = find_splits(folder)
    return train, None, valid, test


def _inductive_files(folder: Path) -> dict[str, tuple[str, ...]] | None:
    """How the files of a folder with two graphs are called; None for any other folder."""
    ends = _ENDINGS[2]
    named = (
        stems for stems in _INDUCTIVE_FILES for end in ends if (folder / f"{stems['inference'][0]}{end}").is_file()
    )
    return next(named, None)


def input_files(path: PathLike, format: str | None = None) -> list[Path]:  # noqa: A002
    """List the files that :func:`read_triples` reads: itself and its dictionaries; none for standard input."""
    if os.fspath(path) == "-":
        return []
    kind = format or format_of(path)
    if kind == "ogb":
        return [Path(path), *(tails_beside(path) if suffixes(path)[0] == ".npy" else mapping_files(path))]
    dictionaries = {"openke": OPENKE_DICTIONARIES, "libkge": LIBKGE_DICTIONARIES}
    if kind == "tsv" and Path(path).is_file():
        with reading(path) as stream:
            is_timed = layout_of(Lines(str(path), stream.readline()))
        return [Path(path), *(dictionaries_beside(path) if is_timed else ())]
    return [Path(path), *(beside(path, name) for name in dictionaries.get(kind, ()))]


def describe_input(path: PathLike, **more: Any) -> dict[str, Any]:
    """Return name and SHA-256 of a file as it is stored, for a manifest; without its folder, which may differ."""
    # standard input and pipes have been read, and cannot be read again
    return {
        "name": name_as_text(Path(path).name),
        "sha256": sha256_of(path) if os.fspath(path) != "-" and Path(path).is_file() else None,
        **more,
    }


def format_of(path: PathLike) -> str:
    """Return the format of a file by its name.

    Examples
    --------
    >>> [format_of(name) for name in ("train2id.txt", "train.del", "kg.nt.gz", "train.pt", "train.txt", "-")]
    ['openke', 'libkge', 'nt', 'ogb', 'tsv', 'tsv']
    """
    suffix, _ = suffixes(path)
    if Path(path).name.partition(".")[0].endswith("2id") and suffix == ".txt":
        return "openke"
    return {".del": "libkge", ".nt": "nt", ".pt": "ogb", ".npy": "ogb"}.get(suffix, "tsv")


def are_columns(columns: str) -> bool:
    """Return whether columns have h, r and t once each, at most one q, and - otherwise.

    Examples
    --------
    >>> are_columns("htr"), are_columns("qh-rt"), are_columns("hr")
    (True, True, False)
    """
    return sorted(columns.replace("-", "").replace("q", "", 1)) == sorted(_NAMES)


def _require_options(
    path: PathLike, columns: str, kind: str | None, delimiter: str, literals: str, header: bool
) -> str:
    if not are_columns(columns):
        raise KgtrecError(
            "expected columns with h, r and t (head, relation, tail) once each, and q (a qualifier, such as the time) "
            f"or - (not read), found {columns!r}"
        )
    if kind is not None:
        one_of("format to be one of", kind, FORMATS)
    if delimiter != WHITESPACE and (len(delimiter) != 1 or not delimiter.isascii() or delimiter in "\r\n\0"):
        raise KgtrecError(f"expected delimiter to be one ASCII character or {WHITESPACE!r}, found {delimiter!r}")
    one_of("literals to be one of", literals, LITERALS)
    kind = kind or format_of(path)
    if kind != "tsv" and (columns != "hrt" or delimiter != "\t"):
        raise FormatError(f"expected no columns or delimiter for format {kind}, which has its own", path)
    if kind != "tsv" and not header:
        raise FormatError(f"expected no --no-header for format {kind}, which has no column names", path)
    return kind


def _read_text(lines: Lines, columns: str, delimiter: str, *, header: bool, may_be_empty: bool) -> Triples:
    path = lines.path
    separator = {"\t": " separated by TAB", WHITESPACE: ""}.get(delimiter, f" separated by {delimiter!r}")
    names = ", ".join((_NAMES | _MORE)[letter] for letter in columns)
    expected = f"{len(columns)} columns ({names}){separator}"
    if not lines.data.strip():
        if may_be_empty:
            return Triples.of([])
        raise FormatError(f"expected lines of {expected}, found an empty file", path)
    if delimiter == WHITESPACE:
        lines, delimiter = lines.separated(), "\t"
    if columns == "hrt" and lines.without_first()[0].count(delimiter.encode()) == 3:
        expected += ", or --columns hrtq where the fourth is a time, hrt- where it is not read"
    column_of = dict(zip(columns, read_fields(lines, len(columns), expected, delimiter=delimiter), strict=True))
    if header and _names_columns(*(column_of[letter][0].as_py() for letter in _NAMES)):
        names = ", ".join(column_of[letter][0].as_py() for letter in _NAMES)
        warn(
            f"{path}: skipped the first line, which names the columns ({names}); if it is a triple, say so with "
            "--no-header (header=False in Python), or move it to another line"
        )
        column_of = {letter: column[1:] for letter, column in column_of.items()}
    return Triples.of_columns(*(column_of.get(letter) for letter in "hrtq"))


def _names_columns(*fields: str) -> bool:
    """Whether head, relation and tail of a line are the names of columns.

    Examples
    --------
    >>> _names_columns("Subject", "predicate", "object"), _names_columns("head_id", "relation_id", "tail_id")
    (True, True)
    >>> _names_columns("h", "r", "t"), _names_columns("h", "p", "t"), _names_columns("tail", "relation", "head")
    (True, False, False)
    """
    if tuple(name.strip('"').lower() for name in fields) in _LETTERS:
        return True
    return all(heading.fullmatch(name) for heading, name in zip(_HEADINGS.values(), fields, strict=True))


def _splits_of(found: dict[str, Path]) -> tuple[Path, Path | None, Path]:
    return found["train"], found.get("valid"), found["test"]


def _one_of_each(
    folder: Path, endings: Sequence[str], stems_of: Mapping[str, tuple[str, ...]] = SPLIT_FILES
) -> dict[str, Path]:
    file_of: dict[str, Path] = {}
    for split, stems in stems_of.items():
        files = [path for stem in stems for ending in endings if (path := folder / f"{stem}{ending}").is_file()]
        named = {path.name.partition(".")[0].removesuffix("2id") for path in folder.iterdir()}  # in whatever format
        if split == "valid" and named.isdisjoint(stems):
            continue
        if len(files) != 1:
            raise FormatError(
                f"expected one file of {split} triples (such as {stems[0]}{endings[0]}), found "
                f"{', '.join(path.name for path in files) or 'none'}; name the files instead",
                path=folder,
            )
        file_of[split] = files[0]
    return file_of
