"""The folder that a campaign produces: a published test collection, one file per part.

=======================  =========================================================================================
``topics.tsv``           ``id TAB anchor TAB relation``
``qrels.txt``            ``question 0 entity grade``: all judgements
``qrels.depth0.txt``     the same with only the answers known before the pool was made, ``qrels.depth1.txt`` with
...                      the triples of pool depth 1 too, and so on down to the deepest
``report.txt``           where the judgements came from, for people; ``report.json`` for programs
``README.md``            how it was made, in words
``SHA256SUMS``           for ``sha256sum -c``
=======================  =========================================================================================

With a collection the folder is a collection's, see :mod:`kgtrec.formats.collections`: the same names, and those of its
other parts beside them. Equal inputs give equal bytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from glob import escape
from pathlib import Path
from typing import Any

from kgtrec.data.collection import Collection
from kgtrec.data.qrels import Qrels
from kgtrec.data.questions import Questions, Topics
from kgtrec.formats.collections import write_collection_parts
from kgtrec.formats.files import PathLike, sha256_of
from kgtrec.formats.output.folders import MANIFEST, REPORT, SUMS, write_git_files
from kgtrec.formats.output.outputs import require_folder, write_text, writing_folder
from kgtrec.formats.trec.qrels import FROM_CAMPAIGN, write_qrels
from kgtrec.formats.trec.topics import write_topics


def require_writable(folder: PathLike, *, force: bool = False) -> None:
    """Raise FormatError if :func:`write_qrels_folder` would refuse to write to a folder."""
    require_folder(folder, _files_of, force=force)


def _files_of(folder: Path) -> list[str]:
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
    force : bool

    Raises
    ------
    FormatError
        If the folder is a file, has other files, or has earlier qrels and ``force`` is False.
    KgtrecError
        If a label cannot be written in a TREC file, or there are no judgements.
    """
    with writing_folder(folder, SUMS, MANIFEST, owned=_files_of, force=force) as part:
        if collection is not None:
            write_collection_parts(part, collection, command=command, report=report_text)
        else:
            write_topics(part / "topics.tsv", Topics.of(questions))
            write_qrels(part / "qrels.txt", by_depth[-1])
            write_text(part / REPORT, report_text)
        for depth, qrels in enumerate(by_depth):
            name = part / f"qrels.depth{depth}.txt"
            if len(qrels):
                write_qrels(name, qrels)
            else:
                write_text(name, "")
        write_text(part / FROM_CAMPAIGN, json.dumps(report, indent=2, ensure_ascii=False) + "\n")
        write_text(part / "README.md", readme)
        write_text(part / SUMS, "".join(f"{sha256_of(path)}  {path.name}\n" for path in sorted(part.iterdir())))
        write_git_files(part, folder)
