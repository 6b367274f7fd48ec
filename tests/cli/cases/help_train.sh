# What there is of optimisers follows from the library, in as many lines as it takes.
hocket train --help | sed '/--optimizer/,/(default sgd/{ s/adam, .*/adam, …/; /--optimizer\|(default sgd/!d; }'
