hocket bench split-network --help
