hocket bench multi --help
