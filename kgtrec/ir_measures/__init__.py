"""For ir-measures' users: kgtrec's measures as objects of ir-measures, and the provider that computes them.

Importing this module makes ``ir_measures.iter_calc``, ``calc_aggregate``, ``evaluator`` and ``parse_measure`` know
them; ``python -m kgtrec.ir_measures QRELS RUN MEASURE...`` is ir-measures' own command line, which knows them too.
"""

from __future__ import annotations

from typing import Any

import ir_measures

from kgtrec.errors import nearest
from kgtrec.ir_measures.measures import KgtrecMeasure, measures
from kgtrec.ir_measures.provider import KgtrecProvider

__all__ = ["MEASURES", "KgtrecMeasure", "KgtrecProvider", "provider"]

#: measures by their names in ir-measures: ``MEASURES["micro_MRR"]``, which is ``kgtrec.ir_measures.micro_MRR``
MEASURES = measures(taken=ir_measures.measures.registry)
#: the provider in ir-measures' registry, under the name ``kgtrec``
provider = KgtrecProvider()

for _name, _measure in MEASURES.items():
    ir_measures.measures.register(_measure, name=_name)
ir_measures.providers.register(provider)
ir_measures.DefaultPipeline.providers.append(provider)


def __getattr__(name: str) -> Any:
    if name in MEASURES:
        return MEASURES[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{nearest(name, MEASURES)}")


def __dir__() -> list[str]:
    return sorted({*globals(), *MEASURES})
