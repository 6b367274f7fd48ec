# The summary, and every picture.
hocket trace run.json --html page.html --svg lanes.svg --dot graph.dot > summary || exit
grep -c 'sim:0' summary > /dev/null && grep -o 'all_reduce' summary | sort -u
grep -c '<title>' lanes.svg
grep -c -- '->' graph.dot
grep -o '</html>' page.html
tail -n 1 lanes.svg
tail -n 1 graph.dot
