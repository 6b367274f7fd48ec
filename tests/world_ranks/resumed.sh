# shellcheck shell=bash
# A training whose optimiser's state is in parts is saved by four ranks and gone on with by 1, 2 and 4, captured and not, and the other
# way round: the same bytes. What keeps the file from being written is known to all ranks: resumed.sh LAUNCH... world_faults hocket
# shellcheck source=/dev/null
. "$(dirname "$0")/launch.inc"
program=$(dirname "$program")/world_resumed
rm -f file one

# train RANKS ARGUMENT...: the hash
train()
{
    local ranks=$1
    shift
    timeout 60 "${launch[@]}" -n "$ranks" "$program" "$@" > output 2>&1 || wrong "$ranks ranks, $*: fails"
    tail -n 1 output
}

# same RANKS ARGUMENT...
same()
{
    [ "$(train "$@")" = "$wanted" ] || wrong "$*: other parameters than without a pause"
}

wanted=$(train 4 file 0 6 3 1)
[ ${#wanted} = 16 ] || wrong "no hash"
same 1 file 3 6 -1 1
same 1 file 3 6 -1 4 captured
same 2 file 3 6 -1 1 captured
same 2 file 3 6 -1 2
same 4 file 3 6 -1 1 captured
same 1 one 0 6 3 1
same 4 one 3 6 -1 1

timeout 60 "${launch[@]}" -n 2 "$program" no/such/folder 0 6 3 1 > output 2>&1 && wrong "a file in no folder is saved"
grep -q "rank 0: " output || wrong "the other rank does not say what kept rank 0 from saving"
exit $failed
