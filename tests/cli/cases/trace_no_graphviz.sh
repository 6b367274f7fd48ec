# The rest is written all the same.
run=$(realpath "$(dirname "$0")/trace_good/run.json")
tools=$(dirname "$(command -v hocket)")
PATH=$tools hocket trace "$run" --graph graph.svg --dot graph.dot > summary
echo "exit status $?"
tail -n 1 graph.dot
