hocket bench async --help
