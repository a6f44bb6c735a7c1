"""Which names of a folder are never shown: keys, credentials, and what Workstead and git keep for themselves. Pure."""

import re
import unicodedata

from workstead.workspace import files

_FOLDERS = frozenset({files.OWN, ".aws", ".azure", ".docker", ".git", ".gnupg", ".hg", ".kube", ".ssh", ".svn"})
_NAMES = re.compile(
    r"""
    \.env(?:rc|[._-].*)? | .*\.env | id_(?:rsa|dsa|ecdsa|ed25519).* | .*\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk)
    | \.?_?netrc | \.npmrc | \.pypirc | \.git-credentials | \.gitcookies | \.htpasswd | \.pgpass | \.my\.cnf
    | \.(?:ba|z|k)?sh_history | \.python_history | \.node_repl_history | \.psql_history | credentials(?:\.json)?
    | \.vault-token | \.terraformrc | .*\.tfstate(?:\.backup)? | service-account.*\.json
    """,
    re.VERBOSE,
)
_SHOWN = re.compile(r"\.env[._-](?:example|sample|template|dist)|(?:example|sample|template)\.env|id_\w+\.pub")


def is_private(parts: tuple[str, ...]) -> bool:
    """Whether a path, as its components, leads to or through something that is never shown."""
    return any(_private_name(part) for part in parts)


def _private_name(name: str) -> bool:
    # Some file systems fold case or drop marks and final dots: what could be the same file there is treated as it.
    drawn = "".join(each for each in unicodedata.normalize("NFKC", name) if unicodedata.category(each) != "Cf")
    plain = drawn.casefold().split(":", 1)[0].rstrip(". ")
    if plain in _FOLDERS or plain.startswith(files.TEMPORARY):
        return True
    return _NAMES.fullmatch(plain) is not None and _SHOWN.fullmatch(plain) is None
