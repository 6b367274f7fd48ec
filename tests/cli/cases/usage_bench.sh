code()
{
    "$@" 2>&1
    echo "exit status $?"
}
code hocket bench asnyc
code hocket bench nothing_like_it
code hocket bench --json
code hocket bench async more
code hocket bench async --repeat 0
code hocket bench overlap --count many
