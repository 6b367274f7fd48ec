command -v dot > /dev/null || exit 77
hocket trace "$(dirname "$0")/trace_good/run.json" --graph graph.svg > summary || exit
grep -o '<svg' graph.svg
grep -c 'class="node"' graph.svg
hocket trace "$(dirname "$0")/trace_good/run.json" --graph nowhere/graph.svg > summary 2> messages
echo "exit status $?"
tail -n 1 messages
