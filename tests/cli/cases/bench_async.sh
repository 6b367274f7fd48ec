. "$(dirname "$0")/bench_form.inc"
bench_form async --size 16 --count 100 --repeat 2
