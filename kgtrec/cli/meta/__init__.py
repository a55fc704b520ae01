"""Find out which measures rank systems alike whatever labels are known, and distinguish systems with few of them.

\b
# pairs of systems that a measure distinguishes
kgtrec meta power C ranks
# ranking of the systems under two label sets
kgtrec meta correlate C qrels.txt --systems ranks

Docs: docs/comparing.md
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
