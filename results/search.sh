#!/usr/bin/env bash
# Searches the settings of all methods (the spaces of if2net/study/bench/hyperparameters.toml) on held-back training data of
# the first tasks of a stream that is never reported, with 12 to 48 trials for each that has as many. On digits, which are few, all tasks are
# learned; IF2Net has its defaults there. `python results/best.py` writes the best settings into that file, and
# results/check.py compares the two. A stopped script continues with the next search.
# results/search_images.sh has the searches on images. Those in OUT/three-tasks and OUT/earlier are not used, except that
# the latter chose IF2Net's encoder for images and settings of the ablations.
# usage: IF2NET_DATA=DIR results/search.sh OUT [JOBS] [METHOD...]
set -euo pipefail
export out=$1 if2net=${IF2NET:-if2net}
jobs=${2:-1}
mkdir -p "$out"

methods() {
    python3 -c 'import tomllib; print(*tomllib.load(open("if2net/study/bench/hyperparameters.toml", "rb")))'
}

# The name of the file, the scenario, the method, and options.
searches() {
    for dataset in mnist fashion-mnist; do
        echo "$dataset-$1 $dataset-10/5 $1"
        case $1 in none | ewc | mas | ol-ewc | si) echo "$dataset-current-$1 $dataset-10/5 $1 --set scope=current" ;; esac
        case $1 in if2net*) echo "$dataset-transductive-$1 $dataset-10/5 $1 --protocol transductive" ;; esac
        case $1 in if2net-*) echo "$dataset-aware-$1 $dataset-10/5 $1 --protocol aware" ;; esac
    done
    case $1 in
        if2net) ;;
        ewc | mas | ol-ewc | si | eft | owm | gem | fs-dgpm | pcl | rps-net) # those whose space has no number of epochs
            echo "digits-$1 digits-10/5 $1 --tasks 5 --set steps=300" ;;
        *) echo "digits-$1 digits-10/5 $1 --tasks 5" ;;
    esac
}

search() {
    [ -f "$out/$1.json" ] || $if2net tune "$2" -m "$3" "${@:4}" --jobs 1 --out "$out/$1.json" > /dev/null
}

export -f search
for method in ${@:3} $([ $# -gt 2 ] || methods); do searches "$method"; done | xargs -P "$jobs" -I{} bash -c "search {}"
