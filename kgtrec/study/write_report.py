"""The report of a study as files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from kgtrec.formats.output.outputs import remove_file, require_file, writing, written_by
from kgtrec.report.cells import numbered
from kgtrec.report.files import PAGE, USUAL_FORMATS, report_files
from kgtrec.report.records import table_csv
from kgtrec.study.bench import silent
from kgtrec.study.folder import read_study
from kgtrec.study.report import study_report

FOLDERS = ("figures", "tables", "data")  # beside the page
BY = "report"  # the writer that their files are recorded under


def write_report(
    study: Path,
    page: Path,
    formats: Sequence[str],
    *,
    width: float | None = None,
    with_intervals: bool = False,
    beside: bool = False,
    say: Callable[[str], None] = silent,
) -> None:
    """Make the report of a study and write its files.

    ``beside``: the report is written into the folder of the study, and files of an earlier report that are not made
    again are removed. For ``width`` (of figures, in inches) and ``with_intervals`` see
    :func:`kgtrec.report.report_files`.
    """
    found = read_study(study)
    chosen = list(formats or USUAL_FORMATS)
    files = report_files(study_report(found), chosen, width=width, with_intervals=with_intervals)
    if "csv" in chosen:
        files |= {
            name: table_csv(table).encode()
            for name, table in zip(_data_names(found.tables), found.tables.values(), strict=True)
        }
    targets = {name: page if name == PAGE else page.parent / name for name in files}
    for target in targets.values():
        require_file(target, by=BY)
    if beside:
        _remove_earlier(page.parent, files, say)
    for name, contents in sorted(files.items(), key=lambda file: file[0] == PAGE):  # the page comes last
        with writing(targets[name], by=BY) as stream:
            stream.write(contents)


def _data_names(tables: Iterable[str]) -> list[str]:
    """A unique file name for each table PART/LABELS or PART/FIRST/SECOND, even if names of label sets have dashes."""
    return [f"data/{name}.csv" for name in numbered(table.replace("/", "-") for table in tables)]


def _remove_earlier(folder: Path, files: Iterable[str], say: Callable[[str], None]) -> None:
    """Remove files of an earlier report that this one does not have; files added or changed by the user stay."""
    for own in ("", *FOLDERS):
        for name in written_by(folder / own, BY):
            if f"{own}/{name}".removeprefix("/") not in files and not remove_file(folder / own / name, by=BY):
                say(f"note: {folder / own / name} belongs to an earlier report and was changed since; it is kept")
