#!/usr/bin/env bash
# Searches the settings of all methods (the spaces of if2net/study/bench/hyperparameters.toml) on held-back training data of
# the first tasks of a stream that is never reported, with at least 12 trials for each. `python results/best.py` writes
# the best settings into that file, and results/check.py compares the two. A stopped search continues.
# results/search_images.sh has the searches on images. Those in OUT/three-tasks are not used, and of OUT/earlier only
# the choice of IF2Net's encoder for images.
# usage: IF2NET_DATA=DIR results/search.sh OUT [JOBS] [METHOD...]
set -euo pipefail
export out=$1 if2net=${IF2NET:-if2net}
jobs=${2:-1}
mkdir -p "$out"

methods() {
    python3 -c 'import tomllib; print(*tomllib.load(open("if2net/study/bench/hyperparameters.toml", "rb")))'
}

# Data set, method, and the scope of the loss if it is not the default of the method.
search() {
    file=$out/$1${3:+-$3}-$2.json
    [ -f "$file" ] || $if2net tune "$1-10/5" -m "$2" ${3:+--set scope="$3"} --out "$file" > /dev/null
}

export -f search
for method in ${@:3} $([ $# -gt 2 ] || methods); do
    for dataset in mnist fashion-mnist; do
        echo "$dataset $method"
        case $method in ewc | mas | ol-ewc | si) echo "$dataset $method current" ;; esac
    done
done | xargs -P "$jobs" -I{} bash -c "search {}"
