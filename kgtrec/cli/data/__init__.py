"""Get public data sets by name: downloaded once, and checked against their published checksums.

They are kept in the user's cache, or in the folder that KGTREC_DATA_CACHE names. KGTREC_DATA_MIRROR names a folder,
or the beginning of a URL, from which they are taken instead of where they were published.

\b
kgtrec data list
kgtrec data get wn18rr
kgtrec questions wn18rr --out C                          downloads it if need be
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
