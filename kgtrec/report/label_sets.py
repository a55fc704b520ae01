"""How systems fare by several sets of labels, side by side, as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

_CELL = 8  # columns of a number


def label_sets_text(
    label_sets: Mapping[str, str],
    systems: Sequence[str],
    measures: Sequence[str],
    scores: NDArray[np.float64],
    tau: NDArray[np.float64],
) -> str:
    """What each letter stands for, and a table: systems down, measures and below each the label sets across.

    Parameters
    ----------
    label_sets : mapping of str to str
        Letter of each -> what it is; the last one is the truth.
    systems, measures : sequences of str
    scores : (label sets, measures, systems) float array
    tau : (label sets, measures) float array
        Of each order of the systems with that by the truth.

    Examples
    --------
    >>> scores, tau = np.array([[[0.5, 0.25]], [[0.75, 1]]]), np.array([[-1], [1]])
    >>> print(label_sets_text({"K": "known", "T": "true"}, ["one", "two"], ["AP@20"], scores, tau), end="")
    K  known
    T  true
    <BLANKLINE>
                         AP@20
    system         K       T
    one       0.5000  0.7500
    two       0.2500  1.0000
    tau to T -1.0000  1.0000
    """
    truth = list(label_sets)[-1]
    last_row = f"tau to {truth}"
    width = max(map(len, ["system", last_row, *systems]))
    lines = [f"{letter}  {about}" for letter, about in label_sets.items()]
    lines += ["", " " * width + "".join(f"{measure:>{len(label_sets) * _CELL}}" for measure in measures)]
    lines.append(f"{'system':{width}}" + "".join(f"{letter:>{_CELL}}" for letter in label_sets) * len(measures))
    by_system = np.concatenate([scores, np.asarray(tau)[..., None]], axis=-1)
    for place, name in enumerate([*systems, last_row]):
        lines.append(f"{name:{width}}" + "".join(f"{value:{_CELL}.4f}" for value in by_system[..., place].T.ravel()))
    return "\n".join(lines) + "\n"
