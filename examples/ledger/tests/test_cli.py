"""The command line, called as a function."""

import contextlib
import io
import tempfile
import unittest
from pathlib import Path

from ledger import cli


class CliTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "ledger.json"

    def ledger(self, *arguments):
        """The exit code and what was printed to either stream."""
        out, wrong = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(wrong):
            try:
                code = cli.main(["--file", str(self.path), *arguments])
            except SystemExit as left:
                code = left.code
        return code, out.getvalue(), wrong.getvalue()

    def test_what_is_added_is_listed(self):
        self.ledger("add", "Rent", "900")
        self.ledger("add", "Water", "12.50")
        _, out, _ = self.ledger("list")
        self.assertEqual(out.splitlines(), ["  1 [ ]    900.00  Rent", "  2 [ ]     12.50  Water"])

    def test_what_is_paid_is_marked(self):
        self.ledger("add", "Rent", "900")
        code, out, _ = self.ledger("pay", "1")
        self.assertEqual((code, out), (0, "  1 [x]    900.00  Rent\n"))

    def test_paying_what_is_not_there_says_so(self):
        code, out, wrong = self.ledger("pay", "7")
        self.assertEqual((code, out, wrong), (1, "", "ledger: there is no entry 7\n"))

    def test_an_amount_that_cannot_be_read_is_refused_in_a_sentence(self):
        code, _, wrong = self.ledger("add", "Rent", "a lot")
        self.assertEqual(code, 2)
        self.assertIn("'a lot' is no amount; write it as 12 or 12.50", wrong)


if __name__ == "__main__":
    unittest.main()
