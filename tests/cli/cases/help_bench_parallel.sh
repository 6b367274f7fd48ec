hocket bench parallel --help
