#!/usr/bin/env bash
# The best of each rule under each protocol: the paper's gradient rule and IF2Net-EWC (5 seeds), and the analytic rule under
# the transductive protocol (30 seeds). Settings are searched first, on held-back training data of a stream that is never reported
# (tune/*.json). A stopped script continues.
# usage: IF2NET_DATA=DIR results/searched.sh OUT [JOBS]
set -euo pipefail
out=$1
jobs=${2:-1}
export if2net=${IF2NET:-if2net} tune=$out/tune out
mkdir -p "$tune"

# Data set, protocol, encoder and rule of each search. The wide encoder gains nothing from the task.
searches() {
    for dataset in mnist fashion-mnist; do
        echo "$dataset transductive paper analytic"
        for rule in gradient ewc; do
            for protocol in agnostic aware transductive; do echo "$dataset $protocol paper $rule"; done
            echo "$dataset agnostic wide $rule"
        done
    done
}

search() {
    dataset=$1 protocol=$2 encoder=$3 rule=$4
    file=$tune/$dataset-$protocol-$rule-$encoder.json
    [ -f "$file" ] && return
    case $rule in
        analytic) grid="--grid ridge=auto,1e-4,1e-2,1" ;;
        gradient) grid="--grid mu=9.3e-10,100 --grid epochs=5,20 --grid alpha=0.1,100" ;;
        ewc) grid="--grid mu=9.3e-10,100 --grid epochs=5,20 --grid fisher=1,100,10000 --set alpha=100" ;;
    esac
    # The last hidden layer is 2,000 wide in both encoders.
    $if2net tune "$dataset-10/5" -m if2net --protocol "$protocol" --set rule="$rule" --set encoder="$encoder" \
        --set width=2000 $grid --out "$file" > /dev/null
}

# The best encoder and settings as --set options; with two variants, the best with one task per batch.
best() {
    python3 - "$tune/$1-$2-$3" <<'PY'
import glob, json, sys
searches = [json.load(open(name)) for name in sorted(glob.glob(sys.argv[1] + "-*.json"))]
score = lambda search: max(entry.get("acc", entry.get("one task per batch", 0)) for entry in search["tried"])
search = max(searches, key=score)
settings = {key: value for _, key, value in search["fixed"]} | next(iter(search["best"].values()))
print(" ".join(f"--set {key}={value}" for key, value in settings.items()))
PY
}

report() {
    dataset=$1 protocol=$2 rule=$3 runs=$([ "$3" = analytic ] && echo 30 || echo 5)
    $if2net run "$dataset-10/5" -m if2net --protocol "$protocol" --runs "$runs" $(best "$dataset" "$protocol" "$rule") \
        --out "$out/$dataset-$protocol-$rule" > /dev/null
    rm -rf "$out/$dataset-$protocol-$rule/checkpoints"
}

export -f search best report
searches | xargs -P "$jobs" -I{} bash -c "search {}"
searches | grep -v wide | xargs -P "$jobs" -I{} bash -c 'set -- {}; report $1 $2 $4'
