"""What a program, such as a language model, says of pooled triples: a help to estimates, and never a judgement."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.columns import Columns


@dataclass(frozen=True, slots=True, eq=False)
class MachineVerdicts(Columns):
    """One row per triple that a machine judged, each triple once, in the order of the pool.

    A triple of the pool without a row was not judged by the machine.
    """

    triple: NDArray[np.int32]  # (n,) row in the pool's triples, ascending
    verdict: NDArray[np.int8]  # (n,) row in VERDICTS
    probability: NDArray[np.float64]  # (n,) that the triple is true, as the machine says; NaN: it gives none
    reason: pa.StringArray  # (n,) why, may be empty
    model: pa.StringArray  # (n,) which model said so, may be empty
    prompt: pa.StringArray  # (n,) hash of the text that it was asked with, may be empty

    def __repr__(self) -> str:
        return f"<MachineVerdicts: {len(self):,}>"

    def of_pool(self, n: int) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
        """Return the verdict and the probability of each of a pool's ``n`` triples; -1 and NaN where there is none.

        Examples
        --------
        >>> text = pa.array([""])
        >>> said = MachineVerdicts(np.array([1], np.int32), np.array([1], np.int8), np.array([0.75]), text, text, text)
        >>> said.of_pool(3)
        (array([-1,  1, -1], dtype=int8), array([ nan, 0.75,  nan]))
        """
        verdict, probability = np.full(n, -1, np.int8), np.full(n, np.nan)
        verdict[self.triple], probability[self.triple] = self.verdict, self.probability
        return verdict, probability
