. "$(dirname "$0")/tiny_data.inc"
tiny_data data
hocket train lenet --data data --batch-size 25 --epochs 3 --plot curves.svg > /dev/null
head -n 1 curves.svg
tail -n 1 curves.svg
grep -c '<circle' curves.svg
grep -o '>[a-z A-Z]*</text>' curves.svg
if command -v python3 > /dev/null; then
    python3 -c 'import xml.dom.minidom; xml.dom.minidom.parse("curves.svg")'
fi
hocket train lenet --data data --steps 1 --plot nowhere/curves.svg > /dev/null
echo "$?"
