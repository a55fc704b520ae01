"""The campaign of `kgtrec demo` before anybody has judged, for `kgtrec campaign serve --demo`."""

from __future__ import annotations

import contextlib
import io
import shutil
import tempfile
from pathlib import Path

from kgtrec.cli.demo_campaign import POOL_DEPTH, POOLED, start_campaign
from kgtrec.cli.demo_script import Script
from kgtrec.cli.demo_world import PEOPLE, make_world, write_world

_SEED = 0  # that of the demo


def write_demo_campaign(folder: Path, depth: int = POOL_DEPTH) -> None:
    """Make the demo's campaign in a new folder, with people of every role and nothing judged; less deep on request."""
    tree, world = make_world(seed=_SEED)
    target = folder.absolute()
    with (
        tempfile.TemporaryDirectory() as work,
        contextlib.chdir(work),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        write_world(Path("kg"), tree, world)
        script = Script()
        script.run("questions kg/train.tsv kg/valid.tsv kg/test.tsv --out sparse")
        for name in POOLED:
            script.run(f"rank sparse --baseline {name} --out sparse-ranks --depth {PEOPLE} --run-format run")
        start_campaign(script, _SEED, depth)
        shutil.copytree("annotation", target)
