"""ir-measures' own command line, with kgtrec's measures."""

from __future__ import annotations

import sys
import warnings

import ir_measures.__main__

import kgtrec.ir_measures  # noqa: F401  # registers the measures
from kgtrec.errors import KgtrecError

if __name__ == "__main__":
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of what Python 3.14 has removed
            ir_measures.parse_measure("P@5")
    except AttributeError:
        sys.exit(
            "Error: this release of ir-measures cannot read names of measures on this Python; use kgtrec evaluate, or "
            "ir_measures.calc_aggregate with measures as objects"
        )
    try:
        ir_measures.__main__.main_cli()
    except KgtrecError as error:
        sys.exit(f"Error: {error}")
