for list in cpu cpu0 cpu: :0 cpu:x cpu:00 cpu:64 sim:64 'cpu:0,' ',cpu:0' 'cpu:0 cpu:1' cpu:0,cpu:0 ''; do
    hocket train lenet --devices "$list"
    echo "$list: $?"
done 2>&1
