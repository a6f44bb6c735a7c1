"""No file holds what ties the repository to one machine or one download host."""

import re

from rules import tree

# Put together here so that this file may be checked too.
HOSTS = [
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("npmjs", "org"),
        ("npmjs", "com"),
        ("yarnpkg", "com"),
        ("crates", "io"),
        ("proxy", "golang", "org"),
        ("rubygems", "org"),
    )
]


def test_no_file_names_a_package_registry() -> None:
    """quality.md, commands: the lock names no download host; that is the machine's business."""
    hosts = re.compile("|".join(re.escape(host) for host in HOSTS))
    option = re.compile(r"^\s*--?(?:index-url|extra-index-url|find-links|i)\b", re.MULTILINE)
    found = [name for name, text in tree.texts() if hosts.search(text)]
    found += [name for name, text in tree.texts() if name.endswith(".lock") and option.search(text)]
    assert not found


def test_no_file_names_the_place_of_this_checkout() -> None:
    """A path of one machine is wrong on every other."""
    here = re.compile(rf"(?<![\w/.~-]){re.escape(str(tree.ROOT))}(?![\w-])")
    assert not [name for name, text in tree.texts() if here.search(text)]
