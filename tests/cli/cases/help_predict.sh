hocket predict --help
