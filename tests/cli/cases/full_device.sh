# What could not be written is a failure.
[ -w /dev/full ] || exit 77
hocket --version > /dev/full
