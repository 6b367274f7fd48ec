for setting in HOCKET_CORES=many HOCKET_CPUS=0 HOCKET_ENGINE=quick; do
    env "$setting" hocket devices
    echo "$setting: $?"
done 2>&1
