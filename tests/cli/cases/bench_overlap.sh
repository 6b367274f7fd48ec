. "$(dirname "$0")/bench_form.inc"
bench_form overlap --size 16 --count 2 --repeat 2
