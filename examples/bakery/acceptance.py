"""What the owners of the bakery want to see, read from the page itself: python3 -m unittest -q acceptance."""

import re
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
STYLE = (HERE / "style.css").read_text(encoding="utf-8")
PAGE = (HERE / "index.html").read_text(encoding="utf-8")


def colours(css):
    """The custom properties that are colours, by name."""
    return dict(re.findall(r"--([a-z-]+):\s*(#[0-9a-f]{6})", css))


def schemes():
    """The colours in the light and in the dark; a property the dark does not set stays as it is."""
    light, _, dark = STYLE.partition("prefers-color-scheme: dark")
    return {"light": colours(light), "dark": colours(light) | colours(dark)}


def luminance(colour):
    """Relative luminance (WCAG 2.2)."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    """How far two colours are apart (WCAG 2.2)."""
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


class Page(unittest.TestCase):
    def test_a_phone_is_told_to_use_its_own_width(self):
        self.assertRegex(PAGE, r'<meta name="viewport" content="width=device-width')

    def test_nothing_has_a_width_that_a_phone_does_not_have(self):
        outside = re.sub(r"@media[^{]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}", "", STYLE)
        fixed = [found for found in re.findall(r"(?<![-\w])width:\s*(\d+)px", outside) if int(found) > 320]
        self.assertEqual(fixed, [])

    def test_the_dark_is_dark_and_the_light_as_it_was(self):
        found = schemes()
        self.assertIn("prefers-color-scheme: dark", STYLE)
        self.assertLess(luminance(found["dark"]["paper"]), 0.05)
        self.assertEqual(found["light"]["paper"], "#fbf7f0")

    def test_text_can_be_read_in_both(self):
        for scheme, found in schemes().items():
            for ink, paper in (("ink", "paper"), ("ink", "sheet"), ("accent", "paper"), ("accent-ink", "accent")):
                self.assertGreaterEqual(contrast(found[ink], found[paper]), 4.5, f"{ink} on {paper}, {scheme}")

    def test_what_is_tapped_is_high_enough(self):
        for selector in (r"\.top a", r"\.button"):
            rules = re.findall(selector + r"\s*(?:,[^{]*)?\{([^}]*)\}", STYLE)
            self.assertTrue(any(re.search(r"min-height:\s*(?:4[4-9]|[5-9]\d)px", rule) for rule in rules), selector)


if __name__ == "__main__":
    unittest.main()
