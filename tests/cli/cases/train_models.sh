# Each model, narrow and on small images or a short text, with its step captured and on two devices.
. "$(dirname "$0")/tiny_data.inc"
tiny_data data
for model in "softmax" "mlp" "lenet5" "alexnet --size 65" "vgg11 --size 32" "nin --size 67" \
    "googlenet --size 32" "resnet18 --size 32" "densenet --size 32" "vit --size 32"; do
    # shellcheck disable=SC2086
    hocket train $model --width 0.05 --data data --devices cpu:0,cpu:1 --batch-size 10 --steps 3
done
for ((i = 0; i < 60; i++)); do
    echo "The quick brown fox jumps over the lazy dog, number $i."
done > text
for model in rnn gru lstm "gpt --optimizer adam --lr-schedule warm-up"; do
    # shellcheck disable=SC2086
    hocket train $model --width 0.1 --text text --length 8 --devices cpu:0,cpu:1 --batch-size 10 --epochs 1
done
hocket train seq2seq --width 0.1 --devices cpu:0,cpu:1 --optimizer adam --steps 30
hocket train transformer --width 0.1 --devices cpu:0,cpu:1 --optimizer adam --steps 30
