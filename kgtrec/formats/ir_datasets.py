"""A collection as ir_datasets reads it: queries.tsv, docs.tsv and qrels.txt in a folder."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from kgtrec.data.collection import Collection
from kgtrec.errors import KgtrecError
from kgtrec.formats.files import PathLike
from kgtrec.formats.output.outputs import require_file, together, writing
from kgtrec.formats.trec.qrels import write_qrels

DOCS, QUERIES, QRELS = "docs.tsv", "queries.tsv", "qrels.txt"
_BLANKS = re.compile(r"\s+")


def require_ir_datasets_folder(folder: PathLike) -> None:
    """Raise FormatError if :func:`write_ir_datasets` would refuse a folder."""
    for name in (DOCS, QUERIES):
        require_file(Path(folder, name))
    require_file(Path(folder, QRELS), kind="qrels")


def write_ir_datasets(
    folder: PathLike, collection: Collection, queries: Sequence[str], documents: Sequence[str]
) -> None:
    """Write ``queries.tsv`` (id, text), ``docs.tsv`` (id, text) and ``qrels.txt``.

    Ids are those of the collection's questions and entities, so that runs over the data set are runs of the collection.

    Parameters
    ----------
    folder : path
        Created with its parents if absent.
    collection : Collection
    queries : (n_questions,) sequence of str
    documents : (n_entities,) sequence of str
        Texts; blanks of any kind in them become single spaces.

    Raises
    ------
    KgtrecError
        If a text is empty.
    FormatError
        If a file exists.
    """
    with together():
        _write_texts(Path(folder, DOCS), collection.entities, documents)
        _write_texts(Path(folder, QUERIES), collection.questions.ids, queries)
        write_qrels(Path(folder, QRELS), collection.qrels)


def _write_texts(path: Path, ids: Iterable[str], texts: Sequence[str]) -> None:
    with writing(path) as stream:
        for own, text in zip(ids, texts, strict=True):
            plain = _BLANKS.sub(" ", text).strip()
            if not plain:
                raise KgtrecError(f"expected a text for {own}, found none")
            stream.write(f"{own}\t{plain}\n".encode())
