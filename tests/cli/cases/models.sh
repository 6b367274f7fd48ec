hocket models
