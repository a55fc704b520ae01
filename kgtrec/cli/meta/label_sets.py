"""Label sets: the options of the commands that compare them, and tables of scores under them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kgtrec.cli.options import PATH, Command, choices_option, option
from kgtrec.errors import KgtrecError
from kgtrec.formats.files import suffixes
from kgtrec.meta.coefficients import COEFFICIENTS

if TYPE_CHECKING:
    from kgtrec.data.scores import ScoreTable

#: the option ``--systems``
systems_option = option("--systems", "Runs, answer ranks or folder to score; repeatable.", PATH, multiple=True)


def coefficients_option(about_default: str, default: Sequence[str] = COEFFICIENTS) -> Callable[[Command], Command]:
    """Add the option ``--coefficient``, passed to the command as ``coefficients``."""
    about = f"Coefficient; repeatable. Default: {about_default}."
    return choices_option("--coefficient", "coefficients", choices=COEFFICIENTS, about=about, default=tuple(default))


def is_score_table(path: str) -> bool:
    """Return whether a file is a table of scores, with names of columns in its first line; standard input must be."""
    from kgtrec.formats.score_tables import looks_like_table

    return path == "-" or (not Path(path).is_dir() and looks_like_table(path))


def read_scores(path: str, keys: Sequence[str], name: str | None = None) -> ScoreTable:
    """Read a table of scores, where no systems are given that qrels need.

    Raises
    ------
    KgtrecError
        If it is none.
    """
    from kgtrec.formats.score_tables import read_score_table

    if Path(path).is_dir() or not (suffixes(path)[0] == ".csv" or is_score_table(path)):
        raise KgtrecError(
            f"{path}: expected a table of scores, with a column System, or systems to score (--systems ranks), found "
            "neither"
        )
    return read_score_table(path, keys=keys, name=name)
