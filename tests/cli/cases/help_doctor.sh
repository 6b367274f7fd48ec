hocket doctor -h
