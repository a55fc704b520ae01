"""Show the effect of missing facts on measures.

\b
kgtrec openworld world --people 6004 --out W
kgtrec rank W --baseline svd --option factors=8,32,128 --depth 0 --out ranks
kgtrec openworld curve W ranks --out curve
kgtrec openworld estimate CAMPAIGN ranks/*.run.gz
"""

from kgtrec.cli import LazyGroup

command = LazyGroup(
    "openworld",
    package=__name__,
    help=__doc__,
    commands_of={
        "world": "Make a collection from a family tree whose facts are all known.",
        "curve": "Score systems on sparse labels of many densities against complete ones.",
        "estimate": "Estimate how many true answers lack a label, and the scores without this lack.",
    },
)
