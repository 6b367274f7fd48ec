. "$(dirname "$0")/tiny_data.inc"
tiny_data data
HOCKET_CPUS=65 hocket doctor --data data
