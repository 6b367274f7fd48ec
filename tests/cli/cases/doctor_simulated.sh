. "$(dirname "$0")/tiny_data.inc"
tiny_data data
HOCKET_CORES=1 HOCKET_SIM=1:flops=1T hocket doctor --data data | sed -n '/^environment/,/^training/p'
