hocket trace --help
