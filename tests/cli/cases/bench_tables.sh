# The two forms for people, without numbers, widths and verdicts.
for form in "" --markdown; do
    # shellcheck disable=SC2086 # no option, or one
    hocket bench overlap --size 16 --count 2 --repeat 1 $form | sed -E -e 's/; host-bound: .*//' \
        -e 's/(PASS|FAIL)/VERDICT/' -e 's/[0-9]+(\.[0-9]+)?(e[-+][0-9]+)?/N/g' -e 's/ +/ /g'
done
