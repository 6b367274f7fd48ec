HOCKET_CORES=1 HOCKET_SIM="2:flops=5G,memory=64M;1:flops=1G,link=1G,peer=2G" hocket devices
