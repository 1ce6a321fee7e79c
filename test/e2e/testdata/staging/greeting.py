def text():
    return "hello"
