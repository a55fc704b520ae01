"""A pool that is replaced while somebody imports the first verdict: one of the two comes first."""

from __future__ import annotations

import csv
import os
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest

from kgtrec.cli import main
from kgtrec.data.campaign import Automatic
from kgtrec.data.pool import Pool
from kgtrec.data.qrels import Qrels
from kgtrec.errors import FormatError, KgtrecError
from kgtrec.formats.campaign.folder import JUDGEMENTS, read_campaign
from kgtrec.formats.campaign.pools import write_pool
from tests.judged_pools import pool_of

WIKI = "https://en.wikipedia.org/wiki/Paris"
ROUNDS = 60


def written(folder: Path, pool: Pool, *, force: bool = False) -> None:
    none = np.zeros(0, np.int32)
    write_pool(
        folder,
        pool,
        Qrels.of(none, none, none, pool.questions.ids, pool.questions.entities),
        Automatic.none(len(pool)),
        force=force,
    )


def started(action, ready: int, log: Path) -> int:
    """A process that waits for a byte, acts, and ends with 0 if it succeeded and 2 if it was refused."""
    pid = os.fork()
    if pid:
        return pid
    code = 3
    try:
        stream = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        os.dup2(stream, 1)
        os.dup2(stream, 2)
        os.read(ready, 1)
        action()
        code = 0
    except KgtrecError:
        code = 2
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else 0 if left.code is None else 3
    finally:
        os._exit(code)


@pytest.mark.slow
def test_a_verdict_is_on_a_triple_of_the_pool_or_it_is_refused(tmp_path):
    """Many times over, by real processes: either the pool is refused, or the import is checked against the new pool."""
    first, second = pool_of([3, 2]), pool_of([2])  # of the latter, all triples are others
    template = tmp_path / "template"
    written(template, first)
    main(["campaign", "init", str(template), "--annotator", "ann", "--annotator", "bob"])
    triples = read_campaign(template).pool.triples
    with (tmp_path / "ann.csv").open("w", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(["task", "head", "relation", "tail", "verdict", "source"])
        rows.writerow([5, *triples.labels_at(4), "Y", WIKI])
    outcomes = set()
    for number in range(ROUNDS):
        folder = tmp_path / "C"
        shutil.copytree(template, folder)
        ready, go = os.pipe()
        log = tmp_path / "log"

        def replace_pool(folder=folder):
            written(folder, second, force=True)

        def take_in(folder=folder):
            warnings.simplefilter("ignore")
            main(["campaign", "import", str(folder), str(tmp_path / "ann.csv"), "--person", "ann"])

        actions = (replace_pool, take_in) if number % 2 else (take_in, replace_pool)
        processes = [started(action, ready, log) for action in actions]
        os.write(go, b"xx")
        codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in processes]
        os.close(ready)
        os.close(go)
        of_pool, of_import = codes if number % 2 else codes[::-1]
        found = read_campaign(folder)  # which refuses a verdict on a triple that is not in the pool
        outcomes.add((of_pool, of_import))
        if of_import == 0:
            assert (of_pool, len(found.judgements), len(found.pool)) == (2, 1, 5), log.read_text()
        else:
            assert (of_pool, of_import, len(found.judgements), len(found.pool)) == (0, 2, 0, 2), log.read_text()
        shutil.rmtree(folder)
    assert outcomes <= {(2, 0), (0, 2)}


def test_a_pool_is_not_replaced_once_there_are_judgements(tmp_path):
    """Also by those that came while the new one was being made."""
    folder = tmp_path / "C"
    written(folder, pool_of([3]))
    (folder / JUDGEMENTS).write_text("{}\n")
    with pytest.raises(FormatError, match="expected a campaign without judgements"):
        written(folder, pool_of([2]), force=True)
