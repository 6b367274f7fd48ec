# shellcheck shell=bash
# The same of ranks whose arrays are on emulated GPUs, before and amid what NCCL moves: gpu_faults.sh LAUNCH... world_faults hocket
# shellcheck source=/dev/null
. "$(dirname "$0")/launch.inc"
# shellcheck source=/dev/null
. "$(dirname "$0")/faults.inc"
export WORLD_DEVICE=cuda:0 HOCKET_WORLD_ROUTE=direct

run none 20
[ "$(grep -c "rank [012]: ok" <<< "$text")" = 3 ] || wrong "none: three ranks should be well"
run stop 20
says "rank 0: device lost: rank 1 has given no sign of life for 1.5 s"
says "rank 2: device lost: rank 1 has given no sign of life for 1.5 s"
run amid 20
says "rank [02]: device lost: rank 1 has given no sign of life for 1.5 s"
# A rank at something else for longer than that lives.
run late 20
[ "$(grep -c "rank [012]: ok" <<< "$text")" = 3 ] || wrong "late: three ranks should be well"
HOCKET_WORLD_TIMEOUT=300 run leave 20
says "rank 0: device lost: rank 1 has ended"
says "rank 2: device lost: rank 1 has ended"
HOCKET_WORLD_TIMEOUT=300 run die 20
gone_within 5
HOCKET_WORLD_TIMEOUT=300 run amid_dies 20
exit $failed
