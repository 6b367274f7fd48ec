# shellcheck shell=bash
# What a rank that stops, is late, leaves or dies does to the others: faults.sh LAUNCH... world_faults hocket
# shellcheck source=/dev/null
. "$(dirname "$0")/launch.inc"
# shellcheck source=/dev/null
. "$(dirname "$0")/faults.inc"
touch begin

run none 20
ends_well none
[ "$(grep -c "rank [012]: ok" <<< "$text")" = 3 ] || wrong "none: three ranks should be well"
run stop 20
says "rank 0: device lost: rank 1 has given no sign of life for 1.5 s"
says "rank 2: device lost: rank 1 has given no sign of life for 1.5 s"
# A rank at something else for longer than that lives; and so do ranks that were stopped all at once.
(sleep 1 && signal STOP && sleep 2.5 && signal CONT) &
run late 20
[ "$(grep -c "rank [012]: ok" <<< "$text")" = 3 ] || wrong "late: three ranks should be well"
wait
HOCKET_WORLD_PATIENCE=1.5 run late 20
says "rank [02]: device lost: rank 1 has not come to it within 1.5 s, though it lives"
HOCKET_WORLD_TIMEOUT=300 run leave 20
ends_well leave
says "rank 0: device lost: rank 1 has ended"
says "rank 2: device lost: rank 1 has ended"
# A rank that ends does what others wait for, and waits for nobody who waits for it.
HOCKET_WORLD_TIMEOUT=300 run early 20
ends_well early
[ "$(grep -c "rank [012]: ok" <<< "$text")" = 3 ] || wrong "early: three ranks should be well"
HOCKET_WORLD_TIMEOUT=300 run owes 20
ends_well owes
says "rank 0: device lost: rank 1 has ended"
says "rank 2: device lost: rank [01] has ended"
HOCKET_WORLD_TIMEOUT=300 run die 20
gone_within 5
says "rank 1 [(w]" # whichever the launcher kills next
WORLD_STEP=17 run fail 20
[ "$(grep -c "rank [012]: out of range: " <<< "$text")" = 3 ] || wrong "fail: three ranks should have the record"
HOCKET_WORLD_TIMEOUT=300 run error 20
text=$(left_since begin)
[ -z "$text" ] || wrong "shared memory is left"
exit $failed
