"""The `compaction` section: what holds without it, what it says, and every mistake it can have."""

import pytest

from work import folder
from workstead.work.workflow.graph import Candidate, Compaction, Snap

SECTION = """\
format: 1
compaction:
  enabled: true
  context_utilization_fraction: 0.7
  trigger_fraction: 0.8
  tail_fraction: 0.1
  snap: compact_straddler
  summarizer_candidate: {provider: practice, model: practice}
"""


@pytest.mark.covers("W14", "W01")
def test_without_the_section_conversations_are_shortened_all_the_same() -> None:
    """facts/work.md 4.5, the defaults."""
    found = folder.compiled().configuration
    assert found.compaction == Compaction(used=0.80, trigger=0.90, tail=0.25, snap=Snap.KEEP, summarizer=None)
    assert {route.used for route in found.routes.values()} == {0.80}


@pytest.mark.covers("W14", "W01")
def test_the_section_says_when_how_and_by_whom() -> None:
    """facts/work.md 4.5, every key; what is used of a window is a route's too."""
    found = folder.compiled(folder.changed("format: 1\n", SECTION)).configuration
    summarizer = Candidate(provider="practice", model="practice")
    wanted = Compaction(used=0.7, trigger=0.8, tail=0.1, snap=Snap.COMPACT, summarizer=summarizer)
    assert found.compaction == wanted
    assert {route.used for route in found.routes.values()} == {0.7}


@pytest.mark.covers("W14", "W01")
@pytest.mark.parametrize(
    ("given", "where", "words"),
    [
        ("enabled: false", "compaction.enabled", "always shortened"),
        ("budget: 9", "compaction.budget", "is not a key here"),
        ("trigger_fraction: 0", "compaction.trigger_fraction", "from 0.05 to 1"),
        ("context_utilization_fraction: 1.5", "compaction.context_utilization_fraction", "from 0.05 to 1"),
        ("tail_fraction: 0.95", "compaction.tail_fraction", "at most `trigger_fraction`"),
        ("snap: half", "compaction.snap", "keep_straddler_verbatim"),
        ("summarizer_candidate: {provider: other, model: m}", "compaction.summarizer_candidate.provider", "`other`"),
        (
            "summarizer_candidate: {provider: practice, model: m}",
            "compaction.summarizer_candidate.model",
            "`m`",
        ),
        ("summarizer_candidate: {model: m}", "compaction.summarizer_candidate", "`provider` must be given"),
    ],
)
def test_a_mistake_is_named_at_its_key(given: str, where: str, words: str) -> None:
    """W01: checked at compile time with useful errors."""
    source = folder.changed("format: 1\n", f"format: 1\ncompaction:\n  {given}\n")
    (issue,) = folder.issues_of(source)
    assert f" {where}: " in issue
    assert words in issue
