# Well formed, but not there: that is a failure, with the runtime's record.
hocket train lenet --devices gpu:0
