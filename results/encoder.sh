#!/usr/bin/env bash
# The searches behind the default encoder and ridge: ACC on held-back training data of a stream that is never reported,
# agnostic unless the name has "aware". usage: IF2NET_DATA=DIR results/encoder.sh OUT [JOBS]
set -euo pipefail
export out=$1 if2net=${IF2NET:-if2net}
mkdir -p "$out"

# The name and the grid of each search.
searches() {
    for dataset in digits mnist fashion-mnist; do
        echo "$dataset preset --grid encoder=wide,linear,paper,paper-25x4"
        echo "$dataset standardise --grid standardise=intensity,common,feature"
        echo "$dataset weights --grid follow=0,0.1,0.15,0.25,0.5 --grid direct=true,false"
        echo "$dataset activation --grid activation=relu,tanh,sigmoid"
        echo "$dataset width --grid width=500,1000,2000,4000,6000,8000"
        echo "$dataset ridge --grid ridge=auto,1e-4,1e-3,1e-2,1e-1"
    done
    for dataset in mnist fashion-mnist; do echo "$dataset aware-width --protocol aware --grid width=500,1000,2000"; done
}

search() { $if2net tune "$1-10/5" -m if2net "${@:3}" --out "$out/$1-$2.json" > /dev/null; }

export -f search
searches | xargs -P "${2:-1}" -I{} bash -c "search {}"
