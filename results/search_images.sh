#!/usr/bin/env bash
# Searches the settings of all methods on features of images, as results/search.sh does on tables. The analytic methods learn
# the first three tasks of a stream that is never reported, the methods trained by gradients all ten; with EfficientNet-Lite0
# all methods learn all ten. The methods trained by gradients have the memory of the experiment and at least 300 steps per
# task, and some of them are also searched without this bound (*-free-steps.json). Of the two searches, the one with the
# higher accuracy is committed as DATA-METHOD.json.
# usage: IF2NET_DATA=DIR results/search_images.sh OUT
set -euo pipefail
out=$1 if2net=${IF2NET:-if2net}
mkdir -p "$out"

search() { # the file without .json, the scenario, the method, and options
    [ -f "$out/$1.json" ] || $if2net tune "$2" -m "$3" "${@:4}" --out "$out/$1.json"
}

trained() { # the name of the data, the scenario, the memory, and the number of classes
    for method in none joint owm gem fs-dgpm bic ari pcl rps-net logd il2m; do
        options=(--tasks 10)
        case $method in
            owm) options+=(--set "classes=$4") ;;
            none | joint | pcl) ;;
            *) options+=(--set "memory=$3") ;;
        esac
        case $1-$method in images-pcl) continue ;; esac # not compared on CIFAR
        search "$1-$method" "$2" "$method" "${options[@]}" --set steps=300
        case $1-$method in
            images-logd | images-il2m | images-ari | *@*-logd | *@*-bic | *@*-il2m)
                search "$1-$method-free-steps" "$2" "$method" "${options[@]}" ;;
            *-out-owm) search "$1-owm-three-layers" "$2" owm "${options[@]}" --set steps=300 \
                --set hidden=400 --set depth=3 --set hidden_alpha=0.1 ;;
        esac
    done
}

analytic() { # the name of the data, the scenario, and options
    for method in ncm slda ranpac acil; do search "$1-$method" "$2" "$method" "${@:3}"; done
    search "$1-if2net" "$2" if2net "${@:3}" --set encoder=wide --set width=10000
}

beside=,beside=innate-large
trained images cifar100-60/10@held-out 2000 60
analytic images cifar100-60/10@held-out
analytic "cifar100@held-out$beside" "cifar100-60/10@held-out$beside"
trained cub200@held-out cub200-100/10@held-out 4400 100
trained stanford-dogs@held-out stanford-dogs-60/10@held-out 2000 60
for data in cub200-100 stanford-dogs-60; do
    analytic "${data%-*}@held-out" "$data/10@held-out"
    analytic "${data%-*}@held-out$beside" "$data/10@held-out$beside"
done
trained cub200@efficientnet-lite0 cub200-100/10@efficientnet-lite0 4400 100
analytic cub200@efficientnet-lite0 cub200-100/10@efficientnet-lite0 --tasks 10
