# A training that goes on has the learning rate and the seed that it began with; another rate is one that is given.
. "$(dirname "$0")/tiny_data.inc"
tiny_data data
common=(mlp --data data --batch-size 10 --width 0.05)
# Whether going on in an epoch gives the losses of a training that never stopped.
for options in "--optimizer adam --lr 0.02 --seed 3" "--lr 0.03 --seed 3" "--lr 0.02 --lr-schedule cosine" "--optimizer adam --lr 0.02 --lr-schedule cosine"; do
    later=$(echo "$options" | sed 's/--lr [0-9.]*//; s/--seed 3//')
    # shellcheck disable=SC2086
    {
        hocket train "${common[@]}" $options --epochs 2 --loss-log whole
        hocket train "${common[@]}" $options --epochs 2 --steps 7 --loss-log first --save saved
        hocket train "${common[@]}" $later --epochs 2 --resume saved --loss-log rest
    } > output
    cat first rest | cmp - whole && echo "$options: the same"
    grep -o 'lr.*' output | sort -u
done
hocket train "${common[@]}" --optimizer adam --lr 0.5 --lr-schedule cosine --resume saved | grep -o 'lr.*'
hocket train "${common[@]}" --optimizer adam --seed 5 --resume saved
# A schedule may be begun, and be left, by plain descent.
hocket train "${common[@]}" --epochs 1 --save plain > /dev/null
hocket train "${common[@]}" --epochs 2 --lr-schedule cosine --resume plain --save scheduled | sed 's/:.*//'
hocket train "${common[@]}" --epochs 3 --resume scheduled | sed 's/:.*//'
# Before anything is trained.
hocket train "${common[@]}" --save nowhere/saved
hocket train "${common[@]}" --save data
ls nowhere 2>&1
hocket train resnet
hocket predict resnett18 --load x y
