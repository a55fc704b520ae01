"""The report of a study as files."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kgtrec.formats.files import sha256_of
from kgtrec.formats.output.outputs import existing, is_replacing, remove, updating
from kgtrec.formats.output.together import together
from kgtrec.report.cells import numbered
from kgtrec.report.files import PAGE, USUAL_FORMATS, report_files
from kgtrec.report.records import table_csv
from kgtrec.study.folder import read_study, study_manifest, write_study_manifest
from kgtrec.study.report import study_report


def contents_of_report(
    study: Path, formats: Sequence[str], *, width: float | None = None, with_intervals: bool = False
) -> dict[str, bytes]:
    """Return the report of a study: file -> contents; the page, ``report.html``, comes last.

    For ``width`` (of figures, in inches) and ``with_intervals`` see :func:`kgtrec.report.report_files`.
    """
    found = read_study(study)
    chosen = list(formats or USUAL_FORMATS)
    files = report_files(study_report(found), chosen, width=width, with_intervals=with_intervals)
    if "csv" in chosen:
        names = numbered(table.replace("/", "-") for table in found.tables)  # unique, even where label sets have dashes
        tables = zip(names, found.tables.values(), strict=True)
        files |= {f"data/{name}.csv": table_csv(table).encode() for name, table in tables}
    return dict(sorted(files.items(), key=lambda file: file[0] == PAGE))


def require_own(folder: Path, name: str, contents: bytes | None = None) -> None:
    """Raise FormatError for a file in a study's folder that the study did not write, or that was changed since.

    ``contents``: what the study will write there; the same may stand there already.
    """
    path = folder / name
    if is_replacing() or not path.exists() or not path.stat().st_size:
        return
    if path.is_dir() or (
        path.read_bytes() != contents and sha256_of(path) != study_manifest(folder)["files"].get(name)
    ):
        raise existing(path)


def write_own_files(folder: Path, files: Mapping[str, bytes], manifest: Mapping[str, Any]) -> list[str]:
    """Write files into a study's folder, and its manifest, which lists them; those of before that are not there go.

    Returns
    -------
    list of str
        Those of before that were changed since, and stay.
    """
    before = study_manifest(folder)["files"]
    for name, contents in files.items():
        require_own(folder, name, contents)
    gone = [name for name in before if name not in files and (folder / name).is_file()]
    changed = [name for name in gone if sha256_of(folder / name) != before[name]]
    with together():
        for name, contents in files.items():
            with updating(folder / name) as stream:
                stream.write(contents)
        for name in gone:
            if name not in changed:
                remove(folder / name)
        sums = {name: hashlib.sha256(contents).hexdigest() for name, contents in sorted(files.items())}
        write_study_manifest(folder, {**manifest, "files": sums})
    return changed
