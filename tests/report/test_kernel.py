"""What results show in the kernel of a notebook: tables, figures and progress, as the notebook stores them."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import html5lib
import pytest

nbclient = pytest.importorskip("nbclient", reason="needs a Jupyter kernel; pip install kgtrec[docs]")
nbformat = pytest.importorskip("nbformat", reason="needs a Jupyter kernel; pip install kgtrec[docs]")
pytest.importorskip("ipykernel", reason="needs a Jupyter kernel; pip install kgtrec[docs]")
pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
CELLS = {
    "world": f"""
        import numpy as np
        import kgtrec
        from kgtrec import campaign, meta
        folder = {str(ROOT / "examples" / "cities")!r}
        splits = [kgtrec.read_triples(f"{{folder}}/{{split}}.tsv") for split in ("train", "valid", "test")]
        cities = kgtrec.build_questions(*splits)
        rng = np.random.default_rng(1)
        shape = len(cities.questions), len(cities.entities)
        """,
    "progress": """
        ranked = {}
        with kgtrec.progress_bar("ranking <three>", 3 * shape[0], "questions") as advance:
            for name in ("a", "b", "c"):
                scores = rng.standard_normal(shape)
                ranked[name] = kgtrec.rank_scores(
                    cities, scores, questions=cities, entities=cities, name=name, progress=advance
                )
        ranks = [one.answer_ranks for one in ranked.values()]
        """,
    "scores": 'kgtrec.evaluate(cities, ranks, ["micro.MRR", "AP"])',
    "plot": 'kgtrec.evaluate(cities, ranks, ["micro.MRR", "AP"]).plot()',
    "axes": """
        from matplotlib import pyplot as plt
        drawing, axes = plt.subplots(1, 2)
        tested = meta.power(cities, ranks, ["AP"])
        tested.plot(axes[0], panel=0)
        meta.stability(cities, ranks, ["AP"], sizes=(0.5, 1.0), repeats=3).plot(axes[1], panel=0);
        """,
    "power": "tested",
    "stability": 'meta.stability(cities, ranks, ["AP"], sizes=(0.5, 1.0), repeats=3)',
    "correlations": 'meta.correlate(cities, cities, ranks, ["AP", "RR"])',
    "pool": "kgtrec.pool_runs(cities, [one.run for one in ranked.values()], depth=3)",
    "campaign": f"campaign.track(campaign.read_campaign({str(ROOT / 'annotation')!r}))",
    "study": "kgtrec.run_study('study.toml', progress=kgtrec.progress_bar)",
    "report": "from kgtrec.study import study_report\nstudy_report(_)",
}
STUDY = f"""
title = "Cities"
[data]
folder = {str(ROOT / "examples" / "cities")!r}
[systems]
baselines = ["popularity", "rules"]
[stability]
repeats = 2
"""


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """The outputs of every cell, which ran in a kernel of their own."""
    folder = tmp_path_factory.mktemp("notebook")
    (folder / "study.toml").write_text(STUDY)
    cells = [
        "\n".join(line.removeprefix("        ") for line in text.strip("\n").splitlines()) for text in CELLS.values()
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in cells])
    nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": folder}}
    ).execute()
    return {name: cell.outputs for name, cell in zip(CELLS, notebook.cells, strict=True)}


def htmls(found: list[Any]) -> list[str]:
    return [one["data"]["text/html"] for one in found if "text/html" in one.get("data", {})]


def pictures(found: list[Any]) -> list[bytes]:
    return [base64.b64decode(one["data"]["image/png"]) for one in found if "image/png" in one.get("data", {})]


@pytest.mark.parametrize("name", ["scores", "power", "stability", "correlations", "pool", "campaign"])
def test_results_are_tables(outputs: dict[str, list[Any]], name: str):
    """Not the text of an object."""
    (text,) = htmls(outputs[name])
    rows = list(html5lib.parseFragment(text, namespaceHTMLElements=False).iter("tr"))
    assert len(rows) > 1


def test_figures_are_pictures(outputs: dict[str, list[Any]]):
    """One for each cell that plots, whether it brings its axes or not."""
    for name in ("plot", "axes"):
        (picture,) = pictures(outputs[name])
        assert picture.startswith(b"\x89PNG")
        assert len(picture) > 5000


def test_progress_is_a_bar_that_moves(outputs: dict[str, list[Any]]):
    """At its end, in the place where it began; what is done is text."""
    (text,) = htmls(outputs["progress"])
    root = html5lib.parseFragment(text, namespaceHTMLElements=False)
    bar = root.find("progress")
    assert bar.get("value") == bar.get("max")
    assert int(bar.get("max")) > 0
    assert f"ranking <three>: {int(bar.get('max')):,} of" in "".join(root.itertext())


def test_a_study_and_its_report_are_their_summary(outputs: dict[str, list[Any]]):
    """Below the progress of its steps."""
    *bars, study = htmls(outputs["study"])
    assert bars
    assert all("<progress" in bar for bar in bars)
    assert htmls(outputs["report"]) == [study]
    assert "<h3>Cities</h3>" in study
    assert "<li>" in study


def test_nothing_is_wrong(outputs: dict[str, list[Any]]):
    """No cell ends in an error or writes a warning."""
    assert not [one for found in outputs.values() for one in found if one.output_type in ("error", "stream")]
