"""ir-measures' own command line, with kgtrec's measures."""

from __future__ import annotations

import sys

import ir_measures.__main__

import kgtrec.ir_measures  # noqa: F401  # registers the measures
from kgtrec.errors import KgtrecError

if __name__ == "__main__":
    try:
        ir_measures.__main__.main_cli()
    except KgtrecError as error:
        sys.exit(f"Error: {error}")
