HOCKET_CORES=1 hocket devices
# More devices than cores share them.
HOCKET_CORES=1 HOCKET_CPUS=3 hocket devices
