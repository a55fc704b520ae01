"""Download public data sets by name, with verified checksums.

\b
# what there is
kgtrec data list
# get one, and print its folder
kgtrec data get wn18rr

Docs: docs/data-sets.md
"""

from kgtrec.cli import LazyGroup

command = LazyGroup(
    "data",
    package=__name__,
    help=__doc__,
    commands_of={
        "list": "List the data sets that are available by name.",
        "get": "Download data sets, and print the folder of each.",
    },
)
