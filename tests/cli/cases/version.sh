# The version comes from one place, so the golden text has none of its own.
hocket --version | sed "s/ $VERSION\$/ VERSION/"
