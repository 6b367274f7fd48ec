# Options that say nothing to a model are refused, and so is what there is not.
for arguments in "train lenet --size 32" "train lenet --width 0.5" "train mlp --init x" "train mlp --text x" \
    "train gru --size 9" "train gru --data x" "train alexnet --size 64" "train mlp --width 0" \
    "train mlp --optimizer adamm" "train mlp --lr-schedule linear" "predict" "predict mlp" "predict mlp x.png" \
    "predict mpl --load x x.png" "predict gru --load x x.png" "predict mlp --load nowhere x.png" \
    "train gru --text nowhere" "train seq2seq --text x" "models x"
do
    # shellcheck disable=SC2086
    hocket $arguments
    echo "$arguments: $?"
done 2>&1
