# What is wrong is named, and no file is written.
run=$(dirname "$0")/forecast/run.json
good=$(dirname "$0")/../../../examples/topologies/laptops.json
wrong()
{
    echo "hocket forecast $*" | sed "s|$run|run.json|; s|$good|laptops.json|"
    hocket forecast "$@" --svg out.svg 2>&1 | sed "s|$run|run.json|"
    echo "${PIPESTATUS[0]}"
}
echo '{"hocket_topology": 1, "levels": [{"children": -4, "bytes_per_second": 1}]}' > negative.json
echo '{"hocket_topology": 1, "level": []}' > unknown.json
echo '{"hocket_topology": 1, "levels": [{"children": 4, "messages": [{"bytes": 9, "ns": 5}, {"bytes": 8, "ns": 6}]}]}' > falling.json
printf 'GIF89a' > picture.json
wrong
wrong "$run"
wrong "$run" --topology "$good" --devices 0
wrong "$run" --topology "$good" --devices 49
wrong "$run" --topology "$good" --jitter nan
wrong "$run" --topology "$good" --slow 3
wrong "$run" --topology "$good" --slow 3:1.5,
wrong "$run" --topology "$good" --slow 3:1.5 --devices 2
wrong "$run" --topology negative.json
wrong "$run" --topology unknown.json
wrong "$run" --topology falling.json
wrong "$run" --topology picture.json
wrong picture.json --topology "$good"
ls ./*.svg 2> /dev/null
true
