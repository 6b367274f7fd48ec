hocket bench
