"""A module that travels by --py-files."""

TEXT = "to be or not to be that is the question"


def pair(word):
    return word, 1
