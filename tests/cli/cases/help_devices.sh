hocket devices --help
