. "$(dirname "$0")/tiny_data.inc"
tiny_data data
HOCKET_CORES=1 HOCKET_CPUS=2 NO_COLOR=1 hocket doctor --data data
