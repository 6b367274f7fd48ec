# Accelerators that no machine keeps up with: what is claimed of a training, which has to be computed, fails, however good its
# figures are, and says why.
. "${BASH_SOURCE%/*}/tiny_data.inc"
mkdir data
one_part data/train 250
one_part data/t10k 250
hocket bench multi --flops 1e13 --link 1e12 --steps 2 --batch-size 8 --repeat 1 --data data > out 2> /dev/null
status=$?
grep '8 times the batch: .*host-bound' out | sed -E 's/[0-9.]+/N/g'
exit "$status"
