"""Find out which measures can be trusted.

A measure can be trusted as far as it ranks systems alike whatever labels happen to be known, and distinguishes
systems with few of them.

\b
kgtrec meta correlate O/evaluation.csv SC/evaluation.csv
kgtrec meta sparsity campaign/qrels --systems ranks
kgtrec meta stability COLLECTION ranks/*.ranks.parquet
kgtrec meta withstand COLLECTION ranks/*.ranks.parquet
kgtrec meta power COLLECTION ranks/*.ranks.parquet
kgtrec meta compare COLLECTION ranks/transe.ranks.parquet ranks/rotate.ranks.parquet
kgtrec meta sampled scores.npz --candidates-total 2500000
"""

from kgtrec.cli import LazyGroup

command = LazyGroup(
    "meta",
    package=__name__,
    help=__doc__,
    commands_of={
        "correlate": "Correlate the rankings of the systems under two label sets.",
        "sparsity": "Show how sparse labels change the ranking of the systems, for each measure.",
        "stability": "Show how the ranking of the systems changes on smaller test sets.",
        "withstand": "Show which measures keep the order of the systems where labels are missing.",
        "power": "Count the pairs of systems that a measure distinguishes.",
        "compare": "Compare two systems, down to the questions that differ most.",
        "sampled": "Show what sampled candidates can say of full ranks, or full ranks of a sample.",
    },
)
