"""The forms of a measure that compare it with chance, derived from its record: ratio, index and z."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kgtrec.measures.record import Measure
from kgtrec.measures.registry import register

_INDEX = "Berrendorf et al. 2020, arXiv:2002.06914; Hoyt et al. 2022, arXiv:2203.07544"


def register_with_forms(measure: Measure, *, ratio: str | None = None) -> None:
    """Register a measure and its forms, see :func:`register_forms`."""
    register(replace(measure, has_chance=True))
    register_forms(measure, ratio=ratio)


def register_forms(measure: Measure, *, ratio: str | None = None) -> None:
    """Register the index and z forms of a measure whose chance level is known.

    ``micro.MRR`` gives ``micro.AMRR`` = (MRR - E) / (1 - E) and ``micro.ZMRR`` = (MRR - E) / sqrt(Var); where lower is
    better the index ends in I, as is usual (``micro.AMRI``), and the sign of z is reversed, unless ``flipped=False``.

    Parameters
    ----------
    measure : Measure
    ratio : str, optional
        The name under which value / E is registered too.
    """
    room, dot, name = measure.name.rpartition(".")
    lower = measure.better == "lower"
    shown = f"{measure.name}@k" if measure.cutoff == "required" else measure.name
    plain = replace(measure, has_chance=True, lower_is_better=lower, source=_INDEX, adjusts=measure.name)
    if ratio is not None:
        description = f"{shown} divided by its value by chance; 1 is chance."
        register(replace(plain, name=ratio, form="ratio", bounds=(0.0, np.inf), description=description))
    adjusted = replace(plain, name=f"{room}{dot}A{name}{'I' if lower else ''}", form="index", better="higher")
    description = f"{shown} adjusted for chance: 0 is chance, 1 is the best value."
    register(replace(adjusted, bounds=(-np.inf, 1.0), description=description))
    standardised = replace(plain, name=f"{room}{dot}Z{name}", form="z", better="higher", bounds=(-np.inf, np.inf))
    parameters = {**measure.parameters, "flipped": True} if lower else measure.parameters
    description = f"How many standard deviations of chance {shown} is better than chance."
    register(replace(standardised, parameters=parameters, description=description))
