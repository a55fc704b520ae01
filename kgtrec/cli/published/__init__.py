"""Compare numbers that others published with what is possible, and with chance.

\b
# adjust a number for chance
kgtrec published adjust --measure micro.MRR --value 0.338 --chance fb15k-237
# find errors in a table
kgtrec published check table-5.csv --data fb15k-237

Docs: docs/check-paper.md
"""

from kgtrec.cli import LazyGroup

command = LazyGroup(
    "published",
    package=__name__,
    help=__doc__,
    commands_of={
        "adjust": "Adjust a published number for chance.",
        "check": "Find impossible or doubtful numbers in a published table.",
    },
)
