#!/usr/bin/env bash
# A ranking file of AnyBURL, PyClause or SAFRAN to answer ranks, a run and every measure, without a line of glue.
#
#   bash examples/anyburl.sh FOLDER
#
# examples/anyburl/predictions.txt is laid out as AnyBURL's Apply, PyClause's write_ranking and SAFRAN write it. The rules in
# it are those of kgtrec's own baseline, so that nobody needs Java for this example.
set -euo pipefail

folder=${1:?usage: bash examples/anyburl.sh FOLDER}
examples=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$folder"
cd "$folder"

kgtrec questions "$examples/cities" --out C

# one list for each test triple and side, other answers left out; what a list lacks is somewhere below its end
kgtrec rank C "$examples/anyburl/predictions.txt" --out ranks

# both ends of each number: rules predict few entities, and nobody knows the order of the rest
kgtrec evaluate C ranks/predictions.ranks.parquet -m "micro.MRR micro.Hits@10 macro.MRR AP@20" | tee scores.txt
