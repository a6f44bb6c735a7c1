"""The page says what it has to say."""

import re
import unittest
from html.parser import HTMLParser
from pathlib import Path

PAGE = (Path(__file__).resolve().parent.parent / "index.html").read_text(encoding="utf-8")


class Links(HTMLParser):
    """Collects ids and what links lead to."""

    def __init__(self):
        super().__init__()
        self.ids, self.links = set(), []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if "id" in given:
            self.ids.add(given["id"])
        if tag == "a":
            self.links.append(given["href"])


class Words(unittest.TestCase):
    def test_every_link_on_the_page_leads_somewhere(self):
        found = Links()
        found.feed(PAGE)
        self.assertEqual([one for one in found.links if one.startswith("#") and one[1:] not in found.ids], [])

    def test_nothing_is_scripted(self):
        self.assertNotRegex(PAGE, r"<script|\son[a-z]+=")

    def test_prices_are_written_in_one_way(self):
        prices = re.findall(r'class="price">([^<]+)<', PAGE)
        self.assertEqual(len(prices), 5)
        self.assertTrue(all(re.fullmatch(r"\d+\.\d\d", price) for price in prices))
