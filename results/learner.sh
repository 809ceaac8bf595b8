#!/usr/bin/env bash
# The figures of IF2Net: the default encoder (agnostic, 5 seeds), and the paper's layers (aware, 30 seeds: they depend much
# on the order of the classes).
# usage: IF2NET_DATA=DIR results/learner.sh OUT
set -euo pipefail
out=$1
if2net=${IF2NET:-if2net}
for dataset in mnist fashion-mnist; do
    for protocol in agnostic aware; do
        runs=$([ $protocol = aware ] && echo 30 || echo 5)
        encoder=$([ $protocol = aware ] && echo paper || echo wide)
        $if2net run "$dataset-10/5" -m if2net --protocol "$protocol" --runs "$runs" --set encoder="$encoder" \
            --out "$out/$dataset-$protocol"
        rm -rf "$out/$dataset-$protocol/checkpoints"
    done
done
