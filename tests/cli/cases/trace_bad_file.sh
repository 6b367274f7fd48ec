# What is no trace is refused, with the place and the reason, and no file is written.
run=$(dirname "$0")/trace_good/run.json
refused()
{
    hocket trace "$1" --svg out.svg --dot out.dot
    echo "$1: $?"
}
{
    : > empty.json
    refused empty.json
    printf 'GIF89a' > picture.json
    refused picture.json
    printf '{"traceEvents": []}\n' > other.json
    refused other.json
    head -c 5000 "$run" > short.json
    refused short.json
    sed '0,/"dur":230.000/s//"dur":"long"/' "$run" > text.json
    refused text.json
    sed 's/"queue":3,/"queue":3000000000,/' "$run" > queue.json
    refused queue.json
    sed 's/"format":1/"format":2/' "$run" > newer.json
    refused newer.json
} 2>&1
ls ./*.svg ./*.dot 2> /dev/null
true
