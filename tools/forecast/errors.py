"""What can go wrong, as the command reports it."""


class BadFile(Exception):
    """A file is not what it should be. The message names what is wrong, its value, and what would be right."""


class BadOption(Exception):
    """The recording and the topology are good, but what is asked of them cannot be done."""


class BadUsage(Exception):
    """An option's value cannot be understood."""


class CannotAccess(Exception):
    """A file cannot be read or written. `operation` names what was tried."""

    def __init__(self, operation: str, message: str):
        super().__init__(message)
        self.operation = operation


def printable(text: str) -> str:
    """The text with control characters escaped, so that a file cannot command a terminal."""
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)


def shortened(text: str, most: int) -> str:
    """The text, or its beginning and "..." where it takes more than `most` characters."""
    return text if len(text) <= most else text[: most - 3] + "..."
