#!/usr/bin/env bash
# What docs/open-world.md measures: sparse labels against complete ones, on a family tree of which all is known.
#
#   bash examples/open_world/curve.sh FOLDER [PEOPLE [DRAWS [CORRELATION]]]
#
# The tables of the docs are those of 6004 people, 5 sets of labels a cell, and a correlation of 0.2.
set -euo pipefail

folder=${1:?usage: bash examples/open_world/curve.sh FOLDER [PEOPLE [DRAWS [CORRELATION]]]}
people=${2:-6004}
draws=${3:-5}
correlation=${4:-0.2}
mkdir -p "$folder"
cd "$folder"

# a closed world: every kinship fact that is true of these people; half of the facts are train, the rest are asked for
kgtrec openworld world --people "$people" --out W

# 17 systems of three families, learnt from train, from weak to strong; an option's values are checkpoints NAME@1, @2, ...
# --depth 0: exact ranks of all answers, and no run, which nobody needs here
kgtrec rank W --baseline rules --option most=1,2,4,8,30,200 --depth 0 --out ranks
kgtrec rank W --baseline svd --option factors=8,32,128,256,384 --depth 0 --out ranks
kgtrec rank W --baseline rescal --option factors=32,96,200 --option iterations=1,4 --option decay=1 --depth 0 --out ranks

# all systems on all labels, and on a part of them: missing at random, and correlated with what rules@3 finds, which knows
# up to four rules of each relation and side, and finds 44% of the answers
kgtrec openworld curve W ranks --densities "0.1 0.3 0.5 0.7 0.9" --correlations "0 $correlation" \
  --correlated-with rules@3 --repeats "$draws" --out curve | tee curve.txt
