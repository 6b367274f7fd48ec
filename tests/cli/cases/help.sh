hocket --help
