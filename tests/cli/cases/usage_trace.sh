wrong()
{
    hocket trace "$@"
    echo "$*: $?"
}
{
    wrong
    wrong one.json two.json
    wrong one.json --htm page.html
    wrong one.json --graph
    wrong one.json --svg ''
} 2>&1
