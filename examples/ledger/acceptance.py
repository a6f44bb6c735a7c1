"""What the owner of the ledger wants to see work, through the real command: python3 -m unittest -q acceptance."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent


class DueDates(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = str(Path(folder.name) / "ledger.json")

    def ledger(self, *arguments):
        """What one call of the program prints, as lines; it must succeed."""
        done = subprocess.run(
            [sys.executable, "-B", "-m", "ledger", *arguments],
            cwd=HERE,
            env={**os.environ, "LEDGER_FILE": self.file},
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.splitlines()

    def test_a_due_date_is_kept_and_shown(self):
        self.ledger("add", "Rent", "900", "--due", "2026-12-01")
        self.assertEqual(self.ledger("list"), ["  1 [ ]    900.00  Rent (due 2026-12-01)"])

    def test_the_list_begins_with_what_is_due_first_and_ends_with_what_has_no_date(self):
        self.ledger("add", "Coffee", "4.50")
        self.ledger("add", "Water", "12.50", "--due", "2026-12-15")
        self.ledger("add", "Rent", "900", "--due", "2026-12-01")
        titles = [line.split("  ")[-1] for line in self.ledger("list")]
        self.assertEqual(titles, ["Rent (due 2026-12-01)", "Water (due 2026-12-15)", "Coffee"])

    def test_the_list_can_be_limited_to_what_is_due_before_a_day(self):
        self.ledger("add", "Coffee", "4.50")
        self.ledger("add", "Rent", "900", "--due", "2026-12-01")
        self.ledger("add", "Water", "12.50", "--due", "2026-12-15")
        lines = self.ledger("list", "--due-before", "2026-12-15")
        self.assertEqual(lines, ["  2 [ ]    900.00  Rent (due 2026-12-01)"])

    def test_a_ledger_from_before_still_works(self):
        Path(self.file).write_text('[{"number": 1, "title": "Rent", "cents": 90000, "paid": false}]', encoding="utf-8")
        self.assertEqual(self.ledger("list"), ["  1 [ ]    900.00  Rent"])
        self.assertEqual(self.ledger("pay", "1"), ["  1 [x]    900.00  Rent"])


if __name__ == "__main__":
    unittest.main()
