hocket bench split --help
