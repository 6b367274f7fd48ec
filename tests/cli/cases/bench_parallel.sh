. "$(dirname "$0")/bench_form.inc"
bench_form parallel --size 16 --count 11 --repeat 2
