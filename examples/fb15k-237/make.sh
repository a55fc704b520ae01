#!/bin/sh
# Make ranks/ again from the models, which are not part of the repository:
#     KGTREC_DATA=FOLDER sh examples/fb15k-237/make.sh
# FOLDER holds the triples (fb15k-237), the published labels (kgc-sparsity) and the models (systems/fb15k-237).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
data=$(cd "${KGTREC_DATA:?expected the folder of the data}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
kgtrec questions "$data/fb15k-237" --out C
kgtrec campaign import-kgc-sparsity "$data/kgc-sparsity" --topics C/topics.tsv --out FB-Test-S-C
kgtrec campaign qrels FB-Test-S-C --out qrels
kgtrec rank C "$data/systems/fb15k-237" --judged qrels/qrels.txt --depth 0 --out ranks
# the same tables in two thirds of the space: the bytes of scores that are alike stand together
python - "$here/ranks" ranks/*.ranks.parquet <<'END'
import sys
from pathlib import Path

import pyarrow.parquet as pq

folder, *paths = map(Path, sys.argv[1:])
folder.mkdir(exist_ok=True)
for path in paths:
    table = pq.read_table(path)
    pq.write_table(
        table,
        folder / path.name,
        compression="zstd",
        compression_level=19,
        use_dictionary=[name for name in table.column_names if name != "score"],
        column_encoding={"score": "BYTE_STREAM_SPLIT"},
    )
END
