hocket models --help
