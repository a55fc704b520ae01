"""A small folder of the form in which Zhou et al. (2022) published their labels, with every kind of mess."""

from __future__ import annotations

from pathlib import Path

FILES = {
    "FB-Test-O/trec_queries.txt": (
        "head0\ttea\tlikes\nhead7\teve\tknows\ntail1\tann\tlikes\ntail5\tbob\tknows\ntail9\tzoe\tlikes\n"
    ),
    "FB-Test-S/samples.txt": "ann\tlikes\ttea\nbob\tknows\teve\n",
    "FB-Test-S/sample_idxs.txt": "3\n7",
    "FB-Test-S-C/annotations.txt": (
        "ann\tlikes\ttea\tY\nbob\tknows\teve\tY\nann\tlikes\tjam\tY\ncat\tlikes\ttea\tN\ndan\tlikes\ttea\tN\n"
        "bob\tknows\tdan\tN\nann\tlikes\tpie\tN\ncat\tknows\teve\tY\n"
    ),
    "FB-Test-S-C/test.txt": "ann\tlikes\ttea\nbob\tknows\teve\nann\tlikes\tjam\ncat\tknows\teve\n",
    "FB-Test-S-C/supplementary/pooling_depth.txt": (
        "ann\tlikes\tjam\t1\ncat\tlikes\ttea\t2\ndan\tlikes\ttea\t3\nbob\tknows\tdan\t1\nann\tlikes\tpie\t2\n"
        "cat\tknows\teve\t3\n"
    ),
    "FB-Test-S-C/supplementary/human_labeled.txt": (
        "ann\tlikes\tjam\tY\ncat\tlikes\ttea\t N\ndan\tlikes\ttea\t\nann\tlikes\tpie\tN\nann\tlikes\tpie\tN\n"
        "cat\tknows\teve\tN"
    ),
    "FB-Test-S-C/supplementary/filtered.txt": "bob\tknows\tdan\tN\nann\tlikes\tpie\tN\n",
}


def published(folder: Path, **changed: str) -> Path:
    """The folder, with the files whose name (without suffix) is among ``changed`` holding that instead."""
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(changed.get(path.stem, text).encode())
    return folder
