#!/usr/bin/env bash
# The figures of IF2Net, 5 seeds: the default encoder (agnostic) and the paper's layers (aware).
# usage: IF2NET_DATA=DIR results/learner.sh OUT
set -euo pipefail
out=$1
if2net=${IF2NET:-if2net}
for dataset in mnist fashion-mnist; do
    for protocol in agnostic aware; do
        $if2net run "$dataset-10/5" -m if2net --protocol "$protocol" --runs 5 --out "$out/$dataset-$protocol"
        rm -rf "$out/$dataset-$protocol/checkpoints"
    done
done
