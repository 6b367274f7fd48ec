# Wrong usage exits with 2, and says what would be right.
for arguments in trian --versoin doktor "device" nonsense "-x" "train" "train lenett" "train lenet x" "devices cpu:0"
do
    # shellcheck disable=SC2086
    hocket $arguments
    echo "$arguments: $?"
done 2>&1
