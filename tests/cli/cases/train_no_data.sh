HOCKET_DATA_DIR=nowhere hocket train lenet
