# White images are of one class, black ones of another; a network learns it, and tells files apart.
mkdir fashion
printf '\0\0\10\3\0\0\0\50\0\0\0\34\0\0\0\34' > fashion/train-images-idx3-ubyte
printf '\0\0\10\1\0\0\0\50' > fashion/train-labels-idx1-ubyte
for ((i = 0; i < 20; i++)); do
    head -c 784 /dev/zero
    head -c 784 /dev/zero | tr '\0' '\377'
    printf '\0\10' >&3
done >> fashion/train-images-idx3-ubyte 3>> fashion/train-labels-idx1-ubyte
cp fashion/train-images-idx3-ubyte fashion/t10k-images-idx3-ubyte
cp fashion/train-labels-idx1-ubyte fashion/t10k-labels-idx1-ubyte
for model in "mlp --width 0.2" "resnet18 --size 32 --width 0.1" "lenet --init book"; do
    # shellcheck disable=SC2086
    hocket train $model --data fashion --batch-size 10 --epochs 20 --optimizer adam --lr 0.003 --save net > /dev/null
    hocket predict "${model%% *}" --load net white.png black.png
done
hocket predict mlp --load net white.png 2>&1
hocket predict lenet --load net nowhere.png 2>&1 | head -n 1
hocket predict lenet --load net run.sh 2>&1 | head -n 1
hocket predict lenet --load white.png white.png 2>&1 | head -n 1
