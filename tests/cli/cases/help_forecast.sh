hocket forecast --help
