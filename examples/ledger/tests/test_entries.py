"""Entries and their file."""

import json
import tempfile
import unittest
from pathlib import Path

from ledger import entries
from ledger.entries import Entry


class EntriesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "ledger.json"

    def test_a_ledger_without_a_file_is_empty(self):
        self.assertEqual(entries.load(self.path), [])

    def test_what_is_saved_is_loaded(self):
        known = [Entry(number=1, title="Rent", cents=90000, paid=True)]
        entries.save(self.path, known)
        self.assertEqual(entries.load(self.path), known)

    def test_saving_leaves_one_file(self):
        entries.save(self.path, [])
        self.assertEqual([each.name for each in self.path.parent.iterdir()], ["ledger.json"])

    def test_a_new_entry_gets_the_next_number(self):
        known = entries.added([Entry(number=4, title="Rent", cents=1)], Entry(number=0, title="Water", cents=2))
        self.assertEqual(known[-1].number, 5)

    def test_paying_what_is_not_there_is_refused(self):
        with self.assertRaises(KeyError):
            entries.paid([], 1)

    def test_the_file_can_be_read_by_people(self):
        entries.save(self.path, [Entry(number=1, title="Kaffee für alle", cents=450)])
        text = self.path.read_text(encoding="utf-8")
        self.assertIn("Kaffee für alle", text)
        self.assertEqual(json.loads(text)[0]["cents"], 450)


if __name__ == "__main__":
    unittest.main()
