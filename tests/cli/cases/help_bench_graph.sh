hocket bench graph --help
