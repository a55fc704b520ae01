"""Show the effect of missing facts on measures.

\b
# systems on sparse labels, against complete ones
kgtrec openworld curve W ranks --out curve
# true answers that a campaign's labels lack
kgtrec openworld estimate CAMPAIGN ranks

Docs: docs/open-world.md
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
