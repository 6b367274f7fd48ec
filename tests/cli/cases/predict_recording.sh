# hocket predict of a recording is hocket forecast: for 1024 devices that all differ, too.
run=$(dirname "$0")/forecast/run.json
topology=$(dirname "$0")/../../../examples/topologies/gpu_machines.json
for command in predict forecast; do
    hocket $command "$run" --devices 1024 --topology "$topology" --jitter 0.05 --svg $command.svg > $command.text || echo "$command fails"
done
cmp predict.text forecast.text && cmp predict.svg forecast.svg
grep -c '^step ' predict.text
