#!/usr/bin/env bash
# EfficientNet-Lite0 with its ImageNet weights on cub200-100/10, two encoders. Which is better is read off tune-*.json (held-back
# training images of a stream that is never reported), not off the test images.
# usage: IF2NET_DATA=DIR results/images.sh OUT [RUNS]
set -euo pipefail
out=$1
runs=${2:-5}
if2net=${IF2NET:-if2net}
mkdir -p "$out"
for encoder in linear wide; do
    $if2net tune cub200-100/10 -m if2net --grid "encoder=$encoder" --grid width=2000 --out "$out/tune-$encoder.json"
    $if2net run cub200-100/10 -m if2net --set "encoder=$encoder" --set width=2000 --runs "$runs" --out "$out/$encoder"
    rm -rf "$out/$encoder/checkpoints"
done
