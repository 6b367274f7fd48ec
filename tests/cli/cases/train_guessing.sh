# A first epoch that teaches nothing says so, and whether that is usual; the book's initial values are others than Glorot's.
. "$(dirname "$0")/tiny_data.inc"
mkdir data
one_part data/train 200
one_part data/t10k 20
for what in lenet5 lenet "lenet --init book" mlp; do
    # shellcheck disable=SC2086
    hocket train $what --data data --batch-size 2 --epochs 1 --lr 0 > /dev/null 2> errors || exit
    echo "$what: $(cat errors)"
done
hocket train lenet --data data --steps 1 --dump-init glorot > /dev/null
hocket train lenet --data data --steps 1 --init book --dump-init book > /dev/null
cmp -s glorot/p0.bin book/p0.bin || echo "other values"
cmp glorot/p1.bin book/p1.bin && echo "no biases"
