#!/usr/bin/env bash
# Why the default encoder and ridge are what they are: agnostic ACC on held-back training data of a stream that is
# never reported. usage: IF2NET_DATA=DIR results/encoder.sh OUT
set -euo pipefail
out=$1
if2net=${IF2NET:-if2net}
for dataset in digits mnist fashion-mnist; do
    tune() { $if2net tune "$dataset-10/5" -m if2net "${@:2}" --out "$out/$dataset-$1.json"; }
    tune preset --grid encoder=wide,linear,paper,paper-25x4
    tune weights --set width=2000 --grid follow=0,0.25,0.5 --grid direct=true,false
    tune activation --set width=2000 --grid activation=relu,tanh,sigmoid
    tune width --grid width=500,1000,2000,4000
    tune ridge --set width=2000 --grid ridge=auto,1e-4,1e-3,1e-2,1e-1
done
