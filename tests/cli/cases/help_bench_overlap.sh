hocket bench overlap --help
