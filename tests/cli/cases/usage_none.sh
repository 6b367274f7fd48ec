hocket
