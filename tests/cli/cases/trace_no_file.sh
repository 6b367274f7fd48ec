hocket trace nowhere.json
