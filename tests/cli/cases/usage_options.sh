wrong()
{
    hocket train lenet "$@"
    echo "$*: $?"
}
{
    wrong --bach-size 3
    wrong --nonsense
    wrong --json=1
    wrong -e 3
    wrong --batch-size
    wrong --batch-size abc
    wrong --batch-size 0
    wrong --batch-size 2.5
    wrong --batch-size=
    wrong --batch-size 99999999999999999999
    wrong --epochs -1
    wrong --lr fast
    wrong --lr nan
    wrong --lr -0.1
    wrong --seed 0x10
    wrong --plot ''
} 2>&1
