# A timeline that cannot be written fails the experiment, however good its figures are.
hocket bench overlap --size 16 --count 2 --repeat 1 --trace no/such/folder.json --json > out.json
status=$?
grep -c '"passed": false' out.json
exit "$status"
