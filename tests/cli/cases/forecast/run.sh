# A recorded step on more devices: text, pictures, and what they are made from is read back.
topologies=$(dirname "$0")/../../../../examples/topologies
run=run.json
for name in gpu_machines laptops simulated; do
    hocket forecast "$run" --devices 8 --topology "$topologies/$name.json" || exit
    echo
done
hocket forecast "$run" --devices 1024 --topology "$topologies/gpu_machines.json" --slow 17:1.5 \
    --html step.html --svg step.svg --trace step.json || exit
grep -o 'device 17' step.svg | sort -u
grep -c '<html' step.html
hocket trace step.json | grep 'calls in'
hocket predict run.json --devices 2 --topology "$topologies/simulated.json" | sed -n 2p
