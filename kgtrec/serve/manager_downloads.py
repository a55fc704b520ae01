"""What who manages a campaign takes away: qrels, the folder, agreement. Nothing is written in the folder for it."""

from __future__ import annotations

import io
import os
import re
import stat
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Literal, cast

from kgtrec.campaign.agreement import campaign_agreement
from kgtrec.campaign.publish import publication_of
from kgtrec.formats.campaign.folder import read_campaign
from kgtrec.formats.campaign.machines import machine_file, machines_in
from kgtrec.formats.collections import write_qrels_folder
from kgtrec.formats.files import PathLike
from kgtrec.formats.output.folders import CAMPAIGN_FILES, MACHINES
from kgtrec.formats.output.locks import campaign_lock
from kgtrec.report.records import table_csv
from kgtrec.report.show import shown

_BLOCK = 1 << 20  # bytes that are in memory at a time
_LEVEL = 3  # of compression: judgements shrink to a tenth by any
_TIME = (1980, 1, 1, 0, 0, 0)  # of every file in an archive, so that equal contents give equal bytes
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST_NAME = 60  # characters


def safe_name(text: str) -> str:
    r"""Name a downloaded file, whatever a folder is called, by ASCII letters, digits, dots and dashes.

    Examples
    --------
    >>> safe_name('a"; x=1\r\nSet-Cookie: y'), safe_name("../.."), safe_name("my campaign")
    ('a-x-1-Set-Cookie-y', 'campaign', 'my-campaign')
    """
    return _NOT_IN_NAMES.sub("-", text)[:_LONGEST_NAME].strip(".-") or "campaign"


def folder_archive(folder: PathLike, name: str) -> IO[bytes]:
    """Pack the files of a campaign's folder into a ZIP archive, as they are at one moment; not those of its page.

    The lock is held only until all files are open. What is added to the judgements later is left out; other files are
    never changed in place by kgtrec.

    Parameters
    ----------
    folder : path
    name : str
        Name of the folder in the archive.

    Returns
    -------
    binary stream
        A temporary file without a name, at its beginning.

    Raises
    ------
    OSError
        If there is no room for it.
    """
    with ExitStack() as opened:
        with campaign_lock(folder):
            parts = list(_parts(opened, name, [Path(folder, own) for own in CAMPAIGN_FILES]))
            machines = [machine_file(folder, machine) for machine in machines_in(folder)]
            parts += _parts(opened, f"{name}/{MACHINES}", machines)
        return _archive(parts)


def qrels_archive(folder: PathLike, name: str, *, level: Literal["question", "triple"]) -> IO[bytes]:
    """Pack the folder that ``kgtrec campaign qrels --level LEVEL`` writes into a ZIP archive.

    Parameters
    ----------
    folder : path
        Folder of the campaign.
    name : str
        Name of the folder in the archive.
    level : {"question", "triple"}

    Returns
    -------
    binary stream
        As :func:`folder_archive`.

    Raises
    ------
    KgtrecError
        As :func:`kgtrec.campaign.publish.publication_of`; if a label cannot be written in a TREC file.
    OSError
        If there is no room for it.
    """
    report, parts = publication_of(read_campaign(folder), level=level)
    with ExitStack() as opened:
        own = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="kgtrec-")), "qrels")
        write_qrels_folder(own, report_text=shown(report, "table"), **parts)
        return _archive(_parts(opened, name, sorted(own.iterdir())))


def agreement_csv(folder: PathLike, name: str, *, per: Literal["relation", "pair"] | None) -> IO[bytes]:
    """Give what ``kgtrec campaign agreement --per PER --format csv`` prints."""
    table = campaign_agreement(read_campaign(folder), per=per, warns=False).tables()[0]
    return io.BytesIO(table_csv(table.data).encode())


def _parts(opened: ExitStack, folder: str, paths: Iterable[Path]) -> Iterator[tuple[zipfile.ZipInfo, IO[bytes]]]:
    """Those of some files that are there, open, as they are put into a folder of an archive."""
    for path in paths:
        if path.is_file():
            stream = opened.enter_context(path.open("rb"))
            state = os.fstat(stream.fileno())
            if stat.S_ISREG(state.st_mode):
                about = zipfile.ZipInfo(f"{folder}/{path.name}", _TIME)
                about.compress_type, about.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
                about.file_size = state.st_size  # what is added to it later does not belong there
                yield about, stream


def _archive(parts: Iterable[tuple[zipfile.ZipInfo, IO[bytes]]]) -> IO[bytes]:
    made = cast("IO[bytes]", tempfile.TemporaryFile(prefix="kgtrec-"))  # noqa: SIM115  # whoever sends it closes it
    try:
        with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as archive:
            for about, stream in parts:
                left = about.file_size
                with archive.open(about, "w") as target:
                    while left and (data := stream.read(min(left, _BLOCK))):
                        target.write(data)
                        left -= len(data)
        made.seek(0)
    except BaseException:
        made.close()
        raise
    return made
